// Search needs a worker, and browsers refuse workers to pages that are opened from disk. There, a hidden frame does the
// work: it runs the worker's script, and messages go to and fro as they would.
(() => {
  if (location.protocol !== "file:") return;

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.deliver(data);
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      script.onerror = (event) => this.dispatchEvent(new ErrorEvent("error", { message: String(event) }));
      this.inside.importScripts = (...urls) =>
        urls.reduce(
          (before, each) =>
            before.then(
              () =>
                new Promise((resolve, reject) => {
                  const next = frame.contentDocument.createElement("script");
                  Object.assign(next, { src: each, onload: resolve, onerror: reject });
                  frame.contentDocument.body.append(next);
                }),
            ),
          Promise.resolve(),
        );
      frame.contentDocument.body.append(script);
      this.frame = frame;
    }

    postMessage(data) {
      if (this.ready) this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    deliver(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (typeof this.onmessage === "function") this.onmessage(event);
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
})();
