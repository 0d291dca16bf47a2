"""Wirings: which neuron reaches which, and whether it excites or inhibits. The same matrices as ncps for the same seed."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera._tessera import InvalidArgument, NcpWiring
from tessera.ncps.drawing import WiringDrawing, color_code, draw_on_axes, positions

__all__ = ["AutoNCP", "FullyConnected", "Layered", "NCP", "Random", "Wiring", "WiringDrawing", "WiringGraph"]

Matrix = npt.NDArray[np.int32]

def json_text(value: Any) -> str:
    """As JSON; numbers of numpy are numbers."""

    def plain(item: Any) -> Any:
        if isinstance(item, np.generic):
            return item.item()
        raise InvalidArgument(f"{item!r} is a {type(item).__name__}, which is no part of a description")

    return json.dumps(value, default=plain)


class WiringGraph:
    """What networkx.DiGraph would hold, where networkx is not installed: nodes and edges with their attributes."""

    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, str]] = {}
        self._edges: dict[tuple[str, str], dict[str, str]] = {}

    def add_node(self, name: str, **attributes: str) -> None:
        self.nodes[name] = attributes

    def add_edge(self, source: str, destination: str, **attributes: str) -> None:
        self._edges[source, destination] = attributes

    def edges(self, data: bool = False) -> list[Any]:
        return [(*pair, attributes) if data else pair for pair, attributes in self._edges.items()]

    def number_of_nodes(self) -> int:
        return len(self.nodes)

    def number_of_edges(self) -> int:
        return len(self._edges)


class Wiring:
    """A wiring of so many neurons without synapses: add them, or derive a class that does."""

    def __init__(self, units: int) -> None:
        if units < 1:
            raise InvalidArgument(f"a wiring of {units} units: at least 1 is needed")
        self.units = units
        self.adjacency_matrix: Matrix = np.zeros((units, units), np.int32)
        self.sensory_adjacency_matrix: Matrix | None = None
        self.input_dim: int | None = None
        self.output_dim: int | None = None

    # What derived classes may say about themselves.

    @property
    def num_layers(self) -> int:
        return 1

    def get_neurons_of_layer(self, layer_id: int) -> list[int]:
        """The neurons of a layer; layers count from the sensory side."""
        if layer_id != 0:
            raise InvalidArgument(f"there is no layer {layer_id}, only 0")
        return list(range(self.units))

    def get_type_of_neuron(self, neuron_id: int) -> str:
        outputs = self.units if self.output_dim is None else self.output_dim
        return "motor" if neuron_id < outputs else "inter"

    # Building.

    def is_built(self) -> bool:
        return self.input_dim is not None

    def build(self, input_dim: int) -> None:
        """Makes the wiring for so many inputs. Building it again for the same number changes nothing."""
        if self.input_dim is None:
            self.set_input_dim(input_dim)
        elif self.input_dim != input_dim:
            raise InvalidArgument(
                f"the wiring was built for {self.input_dim} inputs and cannot be built for {input_dim}: make another one"
            )

    def set_input_dim(self, input_dim: int) -> None:
        if input_dim < 1:
            raise InvalidArgument(f"a wiring of {input_dim} inputs: at least 1 is needed")
        self.input_dim = input_dim
        self.sensory_adjacency_matrix = np.zeros((input_dim, self.units), np.int32)

    def set_output_dim(self, output_dim: int) -> None:
        if not 1 <= output_dim <= self.units:
            raise InvalidArgument(f"{output_dim} outputs of {self.units} units: from 1 to {self.units}")
        self.output_dim = output_dim

    def add_synapse(self, src: int, dest: int, polarity: int) -> None:
        """From one neuron to another; replaces an earlier one between the two."""
        for what, neuron in (("from", src), ("to", dest)):
            if not 0 <= neuron < self.units:
                raise InvalidArgument(f"a synapse {what} neuron {neuron}: there are {self.units}")
        self._check_polarity(polarity)
        self.adjacency_matrix[src, dest] = polarity

    def add_sensory_synapse(self, src: int, dest: int, polarity: int) -> None:
        """From an input to a neuron."""
        if self.sensory_adjacency_matrix is None or self.input_dim is None:
            raise InvalidArgument("a sensory synapse before build(): the number of inputs is not known yet")
        if not 0 <= src < self.input_dim:
            raise InvalidArgument(f"a synapse from input {src}: there are {self.input_dim}")
        if not 0 <= dest < self.units:
            raise InvalidArgument(f"a synapse to neuron {dest}: there are {self.units}")
        self._check_polarity(polarity)
        self.sensory_adjacency_matrix[src, dest] = polarity

    @staticmethod
    def _check_polarity(polarity: int) -> None:
        if polarity not in (-1, 1):
            raise InvalidArgument(f"a synapse of polarity {polarity}: 1 excites, -1 inhibits")

    # What it is.

    @property
    def synapse_count(self) -> int:
        return int(np.count_nonzero(self.adjacency_matrix))

    @property
    def sensory_synapse_count(self) -> int:
        return int(np.count_nonzero(self._sensory()))

    @property
    def layers(self) -> list[tuple[str, list[int]]]:
        """Name and neurons of each layer, from the sensory side."""
        out = []
        for layer in range(self.num_layers):
            neurons = self.get_neurons_of_layer(layer)
            out.append((self.get_type_of_neuron(neurons[0]), neurons))
        return out

    @property
    def digest(self) -> str:
        """The first 16 hexadecimal digits of SHA-256 over both matrices as int8, row by row."""
        return self._native().digest

    def erev_initializer(self, shape: Any = None, dtype: Any = None) -> Matrix:
        return self.adjacency_matrix.copy()

    def sensory_erev_initializer(self, shape: Any = None, dtype: Any = None) -> Matrix:
        return self._sensory().copy()

    def _sensory(self) -> Matrix:
        if self.sensory_adjacency_matrix is None:
            raise InvalidArgument("the wiring has not been built: call build() with the number of inputs")
        return self.sensory_adjacency_matrix

    def _native(self) -> NcpWiring:
        """As the library knows it, with every synapse."""
        sensory = self._sensory()

        def synapses(matrix: Matrix) -> list[list[int]]:
            return [[int(i), int(j), int(matrix[i, j])] for i, j in zip(*np.nonzero(matrix), strict=True)]

        layers = []
        if self.num_layers > 1:
            names: set[str] = set()
            for number, (name, neurons) in enumerate(self.layers):
                layers.append({"name": name if name not in names else f"{name}_{number}", "neurons": neurons})
                names.add(name)
        spec = {
            "type": "Explicit",
            "units": self.units,
            "output_dim": self.output_dim,
            "input_dim": self.input_dim,
            "layers": layers,
            "synapses": synapses(np.asarray(self.adjacency_matrix)),
            "sensory_synapses": synapses(np.asarray(sensory)),
        }
        return NcpWiring(json_text(spec), len(sensory))

    def get_config(self) -> dict[str, Any]:
        sensory = self.sensory_adjacency_matrix
        return {
            "units": self.units,
            "adjacency_matrix": self.adjacency_matrix.tolist(),
            "sensory_adjacency_matrix": None if sensory is None else sensory.tolist(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Wiring:
        wiring = Wiring(config["units"])
        if config.get("adjacency_matrix") is not None:
            wiring.adjacency_matrix = np.array(config["adjacency_matrix"], np.int32)
        if config.get("sensory_adjacency_matrix") is not None:
            wiring.sensory_adjacency_matrix = np.array(config["sensory_adjacency_matrix"], np.int32)
        wiring.input_dim = config.get("input_dim")
        wiring.output_dim = config.get("output_dim")
        return wiring

    # Graphs and drawings.

    def get_graph(self, include_sensory_neurons: bool = True) -> Any:
        """Nodes neuron_i and sensory_i with neuron_type, edges with polarity: a networkx.DiGraph where networkx is
        installed, else a WiringGraph."""
        sensory = self._sensory()
        try:
            graph: Any = importlib.import_module("networkx").DiGraph()
        except ImportError:
            graph = WiringGraph()
        for i in range(self.units):
            graph.add_node(f"neuron_{i}", neuron_type=self.get_type_of_neuron(i))

        def add(prefix: str, matrix: Matrix) -> None:
            for source, destination in zip(*np.nonzero(matrix), strict=True):
                polarity = "excitatory" if matrix[source, destination] > 0 else "inhibitory"
                graph.add_edge(f"{prefix}_{source}", f"neuron_{destination}", polarity=polarity)

        if include_sensory_neurons:
            for i in range(len(sensory)):
                graph.add_node(f"sensory_{i}", neuron_type="sensory")
            add("sensory", sensory)
        add("neuron", self.adjacency_matrix)
        return graph

    def draw_graph(
        self,
        layout: str = "shell",
        neuron_colors: Mapping[str, str] | None = None,
        synapse_colors: Mapping[str, str] | str | None = None,
        draw_labels: bool = False,
    ) -> WiringDrawing:
        """A drawing, which also holds the handles of a legend. Colors are #rrggbb or Matplotlib's names.

        Layouts are shell, circular, layers, kamada, random, spectral, spiral and spring. In programs that use
        matplotlib.pyplot it is drawn on the current axes as well.
        """
        if isinstance(synapse_colors, str):
            synapse_colors = {"excitatory": synapse_colors, "inhibitory": synapse_colors}
        neurons = {**(neuron_colors or {})}
        for kind, color in (("inter", "tab:blue"), ("motor", "tab:orange"), ("sensory", "tab:olive")):
            neurons.setdefault(kind, color)
        synapses = {"excitatory": "tab:green", "inhibitory": "tab:red", **(synapse_colors or {})}
        colors = {name: color_code(color) for name, color in {**neurons, **synapses}.items()}
        legend = [(f"{name.capitalize()} neurons", colors[name]) for name in neurons]
        at = self._positions(layout)
        self._draw_on_axes(at, colors, draw_labels)
        svg = self._native().to_svg(labels=draw_labels, colors=colors, positions=at.tolist())
        return WiringDrawing(svg, legend)

    def _positions(self, layout: str) -> Any:
        """Of the neurons, then of the inputs."""
        sensory = self._sensory()
        nodes = self.units + len(sensory)
        adjacency = np.zeros((nodes, nodes))
        adjacency[: self.units, : self.units] = self.adjacency_matrix
        adjacency[self.units :, : self.units] = sensory
        rings = [list(range(self.units, nodes))]
        outputs = self.units if self.output_dim is None else self.output_dim
        for _, layer in self.layers:
            inner, motor = [n for n in layer if n >= outputs], [n for n in layer if n < outputs]
            rings += [ring for ring in (inner, motor) if ring]
        return positions(layout, adjacency, rings)

    def _draw_on_axes(self, at: Any, colors: Mapping[str, str], labels: bool) -> None:
        sensory = self._sensory()
        names = [f"neuron_{i}" for i in range(self.units)] + [f"sensory_{i}" for i in range(len(sensory))]
        types = [self.get_type_of_neuron(i) for i in range(self.units)] + ["sensory"] * len(sensory)
        edges = []
        for first, matrix in ((0, self.adjacency_matrix), (self.units, sensory)):
            for source, destination in zip(*np.nonzero(matrix), strict=True):
                kind = "excitatory" if matrix[source, destination] > 0 else "inhibitory"
                edges.append((first + int(source), int(destination), colors[kind]))
        draw_on_axes(at, names, [colors.get(each, colors["inter"]) for each in types], edges, labels)

    def to_dot(self, draw_labels: bool = True) -> str:
        """Graphviz text."""
        return self._native().to_dot(labels=draw_labels)

    def __repr__(self) -> str:
        inputs = "not built" if self.input_dim is None else f"{self.input_dim} inputs"
        return f"<tessera.ncps.wirings.{type(self).__name__} of {self.units} units, {inputs}>"


class _Recipe(Wiring):
    """A wiring that the library makes from a few numbers."""

    _type = ""

    def __init__(self, arguments: dict[str, Any], recurrent_first: bool) -> None:
        self._arguments = arguments
        made = self._make(1)  # refuses what cannot be, before anyone knows the inputs
        super().__init__(made.units)
        self.output_dim = made.outputs
        self._made_layers = made.layers
        self._types = [made.neuron_type(i) for i in range(made.units)]
        if recurrent_first:  # the first draws, whatever the number of inputs
            self.adjacency_matrix = made.adjacency()

    def _make(self, inputs: int) -> NcpWiring:
        return NcpWiring(json_text({"type": self._type, **self._arguments}), int(inputs))

    @property
    def num_layers(self) -> int:
        return len(self._made_layers)

    def get_neurons_of_layer(self, layer_id: int) -> list[int]:
        if not 0 <= layer_id < self.num_layers:
            raise InvalidArgument(f"there is no layer {layer_id}: {self.num_layers} count from 0")
        return list(self._made_layers[layer_id][1])

    def get_type_of_neuron(self, neuron_id: int) -> str:
        return self._types[neuron_id]

    def build(self, input_dim: int) -> None:
        if self.input_dim is not None:
            return super().build(input_dim)
        super().build(input_dim)
        made = self._make(input_dim)
        self.adjacency_matrix = made.adjacency()
        self.sensory_adjacency_matrix = made.sensory()
        return None

    def _native(self) -> NcpWiring:
        made = self._make(len(self._sensory()))
        # Synapses may have been added since.
        same = np.array_equal(made.adjacency(), self.adjacency_matrix) and np.array_equal(made.sensory(), self._sensory())
        return made if same else super()._native()

    def get_config(self) -> dict[str, Any]:
        return dict(self._arguments)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Wiring:
        return cls(**config)


class FullyConnected(_Recipe):
    """Every neuron to every neuron, every input to every neuron."""

    _type = "FullyConnected"

    def __init__(
        self, units: int, output_dim: int | None = None, erev_init_seed: int = 1111, self_connections: bool = True
    ) -> None:
        self.self_connections = self_connections
        arguments = {
            "units": units,
            "output_dim": output_dim,
            "erev_init_seed": erev_init_seed,
            "self_connections": self_connections,
        }
        super().__init__(arguments, recurrent_first=True)


class Random(_Recipe):
    """A share of all synapses, chosen at random."""

    _type = "Random"

    def __init__(
        self, units: int, output_dim: int | None = None, sparsity_level: float = 0.0, random_seed: int = 1111
    ) -> None:
        self.sparsity_level = sparsity_level
        arguments = {
            "units": units,
            "output_dim": output_dim,
            "sparsity_level": sparsity_level,
            "random_seed": random_seed,
        }
        super().__init__(arguments, recurrent_first=True)


class NCP(_Recipe):
    """Sensory to inter to command (with synapses among themselves) to motor neurons."""

    _type = "NCP"

    def __init__(
        self,
        inter_neurons: int,
        command_neurons: int,
        motor_neurons: int,
        sensory_fanout: int,
        inter_fanout: int,
        recurrent_command_synapses: int,
        motor_fanin: int,
        seed: int = 22222,
    ) -> None:
        arguments = {
            "inter_neurons": inter_neurons,
            "command_neurons": command_neurons,
            "motor_neurons": motor_neurons,
            "sensory_fanout": sensory_fanout,
            "inter_fanout": inter_fanout,
            "recurrent_command_synapses": recurrent_command_synapses,
            "motor_fanin": motor_fanin,
            "seed": seed,
        }
        super().__init__(arguments, recurrent_first=False)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Wiring:
        """Also upstream's configs, which hold lists of neurons instead of their number, and no seed."""
        given = {k: len(v) if isinstance(v, list) else v for k, v in config.items()}
        if given.get("seed", 0) is None:
            raise InvalidArgument(
                "this config comes from ncps 1.0.1, which loses the seed: put it back, ncps' own default is 22222"
            )
        return cls(**given)


class AutoNCP(NCP):
    """An NCP whose numbers follow from units, outputs and sparsity."""

    _type = "AutoNCP"

    def __init__(self, units: int, output_size: int, sparsity_level: float = 0.5, seed: int = 22222) -> None:
        arguments = {"units": units, "output_size": output_size, "sparsity_level": sparsity_level, "seed": seed}
        _Recipe.__init__(self, arguments, recurrent_first=False)


class Layered(_Recipe):
    """Any number of hidden layers between the sensory and the motor neurons.

    hidden: for each layer its name, its neurons, the synapses into it from each neuron before it, and optionally the
    recurrent synapses within it: ``Layered([("inter", 12, 6), ("deep", 8, 4), ("command", 6, 4, 4)], 1, 6)``.
    """

    _type = "Layered"

    def __init__(
        self, hidden: Sequence[Iterable[Any]], motor_neurons: int, motor_fanin: int, seed: int = 22222
    ) -> None:
        layers = []
        for given in hidden:
            if isinstance(given, Mapping):
                layers.append(dict(given))
                continue
            layer = tuple(given)
            if not 3 <= len(layer) <= 4:
                raise InvalidArgument(f"a hidden layer is (name, neurons, fanout[, recurrent synapses]), not {layer}")
            name, neurons, fanout, *recurrent = layer
            layers.append(
                {
                    "name": name,
                    "neurons": neurons,
                    "fanout": fanout,
                    "recurrent_synapses": recurrent[0] if recurrent else 0,
                }
            )
        arguments = {"hidden": layers, "motor_neurons": motor_neurons, "motor_fanin": motor_fanin, "seed": seed}
        super().__init__(arguments, recurrent_first=False)
