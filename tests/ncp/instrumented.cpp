#include "instrumented.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tessera::ncp::for_tests {
namespace {

Tally tally;
bool absent = false;  // what is counted now belongs to a synapse that does not exist
std::set<std::pair<int, std::size_t>> read_now, written_now;
int arrays = 0;

void count_one(bool special = false) {
  if (!absent) tally.flops += 1;
  tally.executed += 1;
  if (special) tally.specials += 1;
}

struct Num {
  double v = 0;
};
Num operator+(Num a, Num b) { return count_one(), Num{a.v + b.v}; }
Num operator-(Num a, Num b) { return count_one(), Num{a.v - b.v}; }
Num operator*(Num a, Num b) { return count_one(), Num{a.v * b.v}; }
Num operator/(Num a, Num b) { return count_one(), Num{a.v / b.v}; }
Num abs(Num a) { return count_one(), Num{std::abs(a.v)}; }
Num special(Num a, double (*f)(double)) { return count_one(true), Num{f(a.v)}; }
Num sigmoid(Num a) {
  return special(a, [](double x) { return 1 / (1 + std::exp(-x)); });
}
Num tanh(Num a) { return special(a, std::tanh); }
Num exp(Num a) { return special(a, std::exp); }

class Values {
 public:
  explicit Values(std::vector<double> values = {}) : values_(std::move(values)), id_(arrays++) {}
  explicit Values(std::size_t count) : Values(std::vector<double>(count)) {}
  Num get(std::size_t i) const {
    read_now.insert({id_, i});
    return {values_.at(i)};
  }
  void set(std::size_t i, Num value) {
    written_now.insert({id_, i});
    values_.at(i) = value.v;
  }
  const std::vector<double>& raw() const { return values_; }

 private:
  std::vector<double> values_;
  int id_;
};

void kernel(const std::function<void()>& body) {
  read_now.clear();
  written_now.clear();
  body();
  tally.launches += 1;
  tally.bytes += 4.0 * static_cast<double>(read_now.size() + written_now.size());
}

using Parameters = ParameterSet<double>;
std::vector<double> values_of(const Parameters& p, const std::string& name) {
  const int at = p.find(name);
  return at < 0 ? std::vector<double>{} : p.items[static_cast<std::size_t>(at)].values;
}

struct Product {
  Values weight, bias;
  std::vector<double> mask;  // empty: all ones
  std::size_t outputs = 0;

  Product(const Parameters& p, const std::string& name, const std::string& mask_name = "")
      : bias(values_of(p, name + ".bias")), mask(mask_name.empty() ? std::vector<double>{} : values_of(p, mask_name)) {
    std::vector<double> w = values_of(p, name + ".weight");
    for (std::size_t i = 0; i < mask.size(); ++i) w[i] *= mask[i];  // packed once, not in every step
    outputs = static_cast<std::size_t>(p.items[static_cast<std::size_t>(p.find(name + ".weight"))].info.shape[0]);
    weight = Values(std::move(w));
  }
  Num row(std::size_t o, const std::vector<Num>& z) const {
    Num sum = bias.get(o);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const std::size_t at = o * z.size() + i;
      absent = !mask.empty() && mask[at] == 0;
      sum = sum + weight.get(at) * z[i];
      absent = false;
    }
    return sum;
  }
};

Num activated(Activation activation, Num x) {
  switch (activation) {
    case Activation::lecun_tanh: return Num{1.7159} * tanh(Num{0.666} * x);
    case Activation::silu: return x * sigmoid(x);
    case Activation::relu: return count_one(), Num{std::max(x.v, 0.0)};
    case Activation::tanh: return tanh(x);
    case Activation::gelu: return x * special(Num{-std::numbers::sqrt2 / 2} * x, std::erfc) * Num{0.5};
  }
  return x;
}

Num head(DialectRules::Head kind, Num x) {
  if (kind == DialectRules::Head::none) return x;
  return kind == DialectRules::Head::tanh ? tanh(x) : Num{1.7159} * tanh(Num{0.666} * x);
}

struct Problem {
  std::size_t batch, steps, inputs, state;
  bool sequences;
};

std::vector<Num> row_of(const Values& values, std::size_t row, std::size_t width, std::size_t first, std::size_t n) {
  std::vector<Num> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(values.get(row * width + first + i));
  return out;
}

void memory_step(const Parameters& p, const Problem& is, const Values& x, std::size_t t, Values& state,
                 Values& memory) {
  static const std::string names[] = {"lstm.input_map.weight", "lstm.input_map.bias", "lstm.recurrent_map.weight"};
  const Values in(values_of(p, names[0])), bias(values_of(p, names[1])), recurrent(values_of(p, names[2]));
  Values next(is.batch * is.state);
  kernel([&] {
    for (std::size_t b = 0; b < is.batch; ++b) {
      const std::vector<Num> z = row_of(x, b * is.steps + t, is.inputs, 0, is.inputs);
      const std::vector<Num> h = row_of(state, b, is.state, 0, is.state);
      for (std::size_t j = 0; j < is.state; ++j) {
        Num sum[4];
        for (std::size_t q = 0; q < 4; ++q) {
          const std::size_t unit = q * is.state + j;
          sum[q] = bias.get(unit);
          for (std::size_t i = 0; i < z.size(); ++i) sum[q] = sum[q] + in.get(unit * z.size() + i) * z[i];
          for (std::size_t i = 0; i < h.size(); ++i) sum[q] = sum[q] + recurrent.get(unit * h.size() + i) * h[i];
        }
        const std::size_t at = b * is.state + j;
        const Num c = memory.get(at) * sigmoid(sum[2] + Num{1}) + tanh(sum[0]) * sigmoid(sum[1]);
        memory.set(at, c);
        next.set(at, tanh(c) * sigmoid(sum[3]));
      }
    }
  });
  state = next;
}

struct Cell {
  std::size_t inputs, hidden, offset;
  std::vector<Product> backbone{}, heads{};
  Values w_tau{}, amplitude{};
};

std::vector<Cell> cells_of(const CfcLayer& layer, const Parameters& p) {
  std::vector<Cell> out;
  const std::size_t count = layer.wiring ? layer.wiring->layers.size() : 1;
  std::size_t inputs = static_cast<std::size_t>(layer.inputs), offset = 0;
  for (std::size_t l = 0; l < count; ++l) {
    const std::string prefix = layer.wiring ? fmt::format("rnn_cell.layer_{}.", l) : "rnn_cell.";
    const std::size_t hidden =
        layer.wiring ? layer.wiring->layers[l].neurons.size() : static_cast<std::size_t>(layer.units);
    Cell cell{inputs, hidden, offset};
    if (!layer.wiring)
      for (std::size_t i = 0; i < layer.backbone.size(); ++i)
        cell.backbone.emplace_back(p, fmt::format("{}backbone.{}", prefix, 2 * i));
    const std::string mask = layer.wiring ? prefix + "sparsity_mask" : "";
    cell.heads.emplace_back(p, prefix + "ff1", mask);
    if (layer.mode == CfcMode::pure) {
      cell.w_tau = Values(values_of(p, prefix + "w_tau"));
      cell.amplitude = Values(values_of(p, prefix + "A"));
    } else {
      cell.heads.emplace_back(p, prefix + "ff2", mask);
      cell.heads.emplace_back(p, prefix + "time_a");
      cell.heads.emplace_back(p, prefix + "time_b");
    }
    out.push_back(std::move(cell));
    inputs = hidden;
    offset += hidden;
  }
  return out;
}

Num next_state(const CfcLayer& layer, const Cell& cell, std::size_t j, const std::vector<Num>& z) {
  const DialectRules is = rules(layer.dialect);
  const Num ts{1}, p1 = cell.heads[0].row(j, z);
  if (layer.mode == CfcMode::pure) {
    const Num a = cell.amplitude.get(j);
    return a - a * exp(Num{-ts.v} * (abs(cell.w_tau.get(j)) + abs(p1))) * p1;
  }
  const Num p2 = cell.heads[1].row(j, z), ta = cell.heads[2].row(j, z), tb = cell.heads[3].row(j, z);
  const Num gate = sigmoid(ta * Num{is.time_sign * ts.v} + tb);
  const Num first = head(is.head, p1), second = gate * head(is.head, p2);
  return layer.mode == CfcMode::no_gate ? first + second : first * (Num{1} - gate) + second;
}

void cfc_step(const CfcLayer& layer, const std::vector<Cell>& cells, const Problem& is, const Values& x, std::size_t t,
              Values& state) {
  Values next(is.batch * is.state);
  for (std::size_t l = 0; l < cells.size(); ++l) {
    const Cell& cell = cells[l];
    const auto inputs_of = [&](std::size_t b) {
      std::vector<Num> z = l == 0 ? row_of(x, b * is.steps + t, is.inputs, 0, is.inputs)
                                  : row_of(next, b, is.state, cells[l - 1].offset, cells[l - 1].hidden);
      const std::vector<Num> own = row_of(state, b, is.state, cell.offset, cell.hidden);
      z.insert(z.end(), own.begin(), own.end());
      return z;
    };
    Values wide;
    for (std::size_t i = 0; i < cell.backbone.size(); ++i) {
      const Product& product = cell.backbone[i];
      Values out(is.batch * product.outputs);
      kernel([&] {
        for (std::size_t b = 0; b < is.batch; ++b) {
          const std::size_t width = i == 0 ? 0 : cell.backbone[i - 1].outputs;
          const std::vector<Num> z = i == 0 ? inputs_of(b) : row_of(wide, b, width, 0, width);
          for (std::size_t o = 0; o < product.outputs; ++o)
            out.set(b * product.outputs + o, activated(layer.activation, product.row(o, z)));
        }
      });
      wide = out;
    }
    kernel([&] {
      for (std::size_t b = 0; b < is.batch; ++b) {
        const std::size_t width = cell.backbone.empty() ? 0 : cell.backbone.back().outputs;
        const std::vector<Num> z = cell.backbone.empty() ? inputs_of(b) : row_of(wide, b, width, 0, width);
        for (std::size_t j = 0; j < cell.hidden; ++j)
          next.set(b * is.state + cell.offset + j, next_state(layer, cell, j, z));
      }
    });
  }
  state = next;
}

struct SynapseValues {
  std::size_t sources, units;
  Values w, sigma, mu, erev;
  std::vector<double> mask;

  SynapseValues(const Parameters& p, const std::string& prefix, std::size_t n, std::size_t m, bool positive)
      : sources(n),
        units(m),
        sigma(values_of(p, "rnn_cell." + prefix + "sigma")),
        mu(values_of(p, "rnn_cell." + prefix + "mu")),
        erev(values_of(p, "rnn_cell." + prefix + "erev")),
        mask(values_of(p, "rnn_cell." + prefix + "sparsity_mask")) {
    std::vector<double> raw = values_of(p, "rnn_cell." + prefix + "w");
    if (positive)
      for (double& value : raw) value = std::log1p(std::exp(value));
    w = Values(std::move(raw));
  }
  std::pair<Num, Num> sums(std::size_t j, const std::vector<Num>& v, bool skip) const {
    Num current, conductance;
    for (std::size_t i = 0; i < sources; ++i) {
      const std::size_t at = i * units + j;
      absent = mask[at] == 0;
      if (absent && skip) {
        absent = false;
        continue;
      }
      const Num r = w.get(at) * sigmoid(sigma.get(at) * (v[i] - mu.get(at)));
      const Num c = r * erev.get(at), next_current = current + c, next_conductance = conductance + r;
      if (!absent) current = next_current, conductance = next_conductance;
      absent = false;
    }
    return {current, conductance};
  }
};

class LtcRun {
 public:
  LtcRun(const LtcLayer& layer, const Parameters& p, const Problem& is, bool skip)
      : layer_(layer),
        is_(is),
        skip_(skip),
        sensory_(p, "sensory_", is.inputs, is.state, layer.implicit_constraints),
        recurrent_(p, "", is.state, is.state, layer.implicit_constraints),
        input_w_(values_of(p, "rnn_cell.input_w")),
        input_b_(values_of(p, "rnn_cell.input_b")),
        vleak_(values_of(p, "rnn_cell.vleak")) {
    const auto positive = [&](const char* name) {
      std::vector<double> out = values_of(p, std::string("rnn_cell.") + name);
      if (layer.implicit_constraints)
        for (double& value : out) value = std::log1p(std::exp(value));
      return out;
    };
    const std::vector<double> leak = positive("gleak"), vleak = values_of(p, "rnn_cell.vleak");
    std::vector<double> capacity = positive("cm"), leak_current;
    for (std::size_t j = 0; j < leak.size(); ++j) leak_current.push_back(leak[j] * vleak[j]);
    if (layer.solver != OdeSolver::semi_implicit)
      for (double& c : capacity) c += layer.epsilon;
    leak_ = Values(leak);
    leak_current_ = Values(leak_current);
    capacity_ = Values(capacity);
  }

  void step(const Values& x, std::size_t t, Values& v) {
    Values current(is_.batch * is_.state), conductance(is_.batch * is_.state);
    kernel([&] {
      for (std::size_t b = 0; b < is_.batch; ++b) {
        std::vector<Num> u = row_of(x, b * is_.steps + t, is_.inputs, 0, is_.inputs);
        for (std::size_t i = 0; i < u.size(); ++i) {
          if (layer_.input_mapping != Mapping::none) u[i] = u[i] * input_w_.get(i);
          if (layer_.input_mapping == Mapping::affine) u[i] = u[i] + input_b_.get(i);
        }
        for (std::size_t j = 0; j < is_.state; ++j) {
          const auto [c, g] = sensory_.sums(j, u, skip_);
          current.set(b * is_.state + j, c);
          conductance.set(b * is_.state + j, g);
        }
      }
    });
    const Num h{1.0 / layer_.ode_unfolds};
    for (int unfold = 0; unfold < layer_.ode_unfolds; ++unfold) {
      if (layer_.solver == OdeSolver::runge_kutta) {
        runge_kutta(v, current, conductance, h);
        continue;
      }
      Values next(is_.batch * is_.state);
      kernel([&] {
        for (std::size_t b = 0; b < is_.batch; ++b) {
          const std::vector<Num> all = row_of(v, b, is_.state, 0, is_.state);
          for (std::size_t j = 0; j < is_.state; ++j) {
            const std::size_t at = b * is_.state + j;
            if (layer_.solver == OdeSolver::explicit_euler) {
              next.set(at, all[j] + h * rate(all, j, current.get(at), conductance.get(at)));
              continue;
            }
            const auto [c, g] = recurrent_.sums(j, all, skip_);
            const Num up = capacity_.get(j) * all[j] + h * (leak_current_.get(j) + (c + current.get(at)));
            const Num down = capacity_.get(j) + h * (leak_.get(j) + (g + conductance.get(at)) + Num{layer_.epsilon});
            next.set(at, up / down);
          }
        }
      });
      v = next;
    }
  }

 private:
  Num rate(const std::vector<Num>& v, std::size_t j, Num sensed_current, Num sensed_conductance) const {
    const auto [c, g] = recurrent_.sums(j, v, skip_);
    const Num current = c + sensed_current, conductance = g + sensed_conductance;
    return (leak_.get(j) * (vleak_.get(j) - v[j]) + current - v[j] * conductance) / capacity_.get(j);
  }

  void runge_kutta(Values& v, const Values& current, const Values& conductance, Num h) {
    const std::size_t n = is_.batch * is_.state;
    Values stage = v, rates(n);
    for (int s = 0; s < 4; ++s) {
      Values next(n);
      kernel([&] {
        for (std::size_t b = 0; b < is_.batch; ++b) {
          const std::vector<Num> all = row_of(stage, b, is_.state, 0, is_.state);
          for (std::size_t j = 0; j < is_.state; ++j) {
            const std::size_t at = b * is_.state + j;
            const Num k = rate(all, j, current.get(at), conductance.get(at));
            const Num base = s == 0 ? all[j] : v.get(at);
            if (s == 3) {
              next.set(at, base + Num{h.v / 6} * (rates.get(at) + k));
              continue;
            }
            rates.set(at, s == 0 ? k : rates.get(at) + Num{2} * k);
            next.set(at, base + Num{s == 2 ? h.v : h.v / 2} * k);
          }
        }
      });
      stage = next;
    }
    v = stage;
  }

  const LtcLayer& layer_;
  const Problem& is_;
  bool skip_;
  SynapseValues sensory_, recurrent_;
  Values input_w_, input_b_, vleak_, leak_, leak_current_, capacity_;
};

}  // namespace

Counted run_counted(const Layer& layer, const Parameters& p, const Sequence<double>& sequence, bool skip_absent) {
  tally = {};
  const LayerSizes size = sizes(layer);
  const auto n = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  const Problem is{n(sequence.batch), n(sequence.steps), n(size.inputs), n(size.state), size.return_sequences};
  const Values x(std::vector<double>(sequence.input.begin(), sequence.input.end()));
  Values state(is.batch * is.state), memory(is.batch * is.state);
  const auto* cfc = std::get_if<CfcLayer>(&layer);
  const auto* ltc = std::get_if<LtcLayer>(&layer);
  const std::vector<Cell> cells = cfc ? cells_of(*cfc, p) : std::vector<Cell>{};
  std::optional<LtcRun> run;
  if (ltc) run.emplace(*ltc, p, is, skip_absent);
  std::optional<Product> projection;
  if (p.find("fc.weight") >= 0) projection.emplace(p, "fc");
  const Values output_w(values_of(p, "rnn_cell.output_w")), output_b(values_of(p, "rnn_cell.output_b"));
  Values output(is.batch * (is.sequences ? is.steps : 1) * n(size.outputs));
  for (std::size_t t = 0; t < is.steps; ++t) {
    if (size.mixed_memory) memory_step(p, is, x, t, state, memory);
    if (cfc) cfc_step(*cfc, cells, is, x, t, state);
    if (ltc) run->step(x, t, state);
    // An LTC maps its motor neurons in every step, as upstream's cell does.
    const std::size_t first = ltc ? 0 : is.state - n(size.readout);
    Values mapped(is.batch * n(size.readout));
    const auto map = [&] {
      for (std::size_t b = 0; b < is.batch; ++b)
        for (std::size_t i = 0; i < n(size.readout); ++i) {
          Num y = state.get(b * is.state + first + i);
          if (!output_w.raw().empty()) y = y * output_w.get(i);
          if (!output_b.raw().empty()) y = y + output_b.get(i);
          mapped.set(b * n(size.readout) + i, y);
        }
    };
    if (!output_w.raw().empty() || !output_b.raw().empty())
      kernel(map);
    else
      map();  // the state itself
    if (!is.sequences && t + 1 < is.steps) continue;
    const auto place = [&](std::size_t b, std::size_t o) {
      return ((is.sequences ? b * is.steps + t : b) * n(size.outputs)) + o;
    };
    const auto project = [&] {
      for (std::size_t b = 0; b < is.batch; ++b) {
        const std::vector<Num> z = row_of(mapped, b, n(size.readout), 0, n(size.readout));
        for (std::size_t o = 0; o < n(size.outputs); ++o)
          output.set(place(b, o), projection ? projection->row(o, z) : z[o]);
      }
    };
    if (projection)
      kernel(project);
    else
      project();
  }
  return {tally, output.raw()};
}

}  // namespace tessera::ncp::for_tests
