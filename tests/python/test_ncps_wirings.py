"""tessera.ncps.wirings: upstream's matrices, configs, graphs."""

import json

import numpy as np
import pytest

import tessera
from tessera.ncps import CfC, LTC, wirings

# Digests that ncps 1.0.1 with NumPy's generators gives.
GOLDEN = [
    (lambda: wirings.NCP(10, 10, 8, 6, 6, 4, 6), 8, 112, 48, "17b3fe3e24689926"),
    (lambda: wirings.NCP(8, 4, 2, 1, 1, 1, 1, seed=7), 1, 15, 8, "d37d2fcde90deb7c"),
    (lambda: wirings.AutoNCP(16, 4), 8, 28, 32, "55e54b0806d1d8f5"),
    (lambda: wirings.AutoNCP(64, 8, 0.75, seed=3), 20, 221, 160, "1b91f963241638b6"),
    (lambda: wirings.FullyConnected(8, 4), 8, 64, 64, "84e01fcdcbb266be"),
    (lambda: wirings.FullyConnected(32, self_connections=False), 8, 992, 256, "4e03662accdf59f2"),
    (lambda: wirings.Random(16, sparsity_level=0.5), 8, 128, 64, "90c599d8ecc5878a"),
]


@pytest.mark.parametrize(("make", "inputs", "synapses", "sensory", "digest"), GOLDEN)
def test_matrices_are_upstreams(make, inputs, synapses, sensory, digest):
    wiring = make()
    assert not wiring.is_built()
    wiring.build(inputs)
    for _ in range(2):
        assert (wiring.synapse_count, wiring.sensory_synapse_count, wiring.digest) == (synapses, sensory, digest)
        wiring.build(inputs)  # once more: upstream adds synapses
    again = type(wiring).from_config(json.loads(json.dumps(wiring.get_config())))
    again.build(inputs)
    assert again.digest == digest
    assert again.adjacency_matrix.dtype == np.int32
    assert set(np.unique(again.adjacency_matrix)) <= {-1, 0, 1}


def test_what_a_wiring_says_of_itself():
    wiring = wirings.NCP(5, 4, 2, 3, 2, 3, 3)
    wiring.build(3)
    assert (wiring.units, wiring.input_dim, wiring.output_dim, wiring.num_layers) == (11, 3, 2, 3)
    assert wiring.get_neurons_of_layer(0) == [6, 7, 8, 9, 10]
    assert [wiring.get_type_of_neuron(i) for i in (0, 2, 6)] == ["motor", "command", "inter"]
    assert [name for name, _ in wiring.layers] == ["inter", "command", "motor"]
    assert isinstance(wirings.AutoNCP(8, 2), wirings.NCP)
    np.testing.assert_array_equal(wiring.erev_initializer(), wiring.adjacency_matrix)
    assert wirings.FullyConnected(4).synapse_count == 16  # known before it is built, as upstream


def test_synapses_one_by_one():
    wiring = wirings.Wiring(3)
    wiring.set_output_dim(1)
    with pytest.raises(tessera.InvalidArgument, match=r"before build\(\)"):
        wiring.add_sensory_synapse(0, 1, 1)
    wiring.build(2)
    wiring.add_sensory_synapse(0, 1, 1)
    wiring.add_sensory_synapse(1, 2, -1)
    wiring.add_synapse(1, 0, -1)
    wiring.add_synapse(1, 0, 1)
    assert (wiring.synapse_count, wiring.sensory_synapse_count) == (1, 2)
    for arguments, text in (((3, 0, 1), "from neuron 3: there are 3"), ((0, -1, 1), "to neuron -1"), ((0, 0, 2), "polarity 2")):
        with pytest.raises(tessera.InvalidArgument, match=text):
            wiring.add_synapse(*arguments)
    model = LTC(2, wiring, seed=1)
    np.testing.assert_array_equal(model.state_dict()["rnn_cell.erev"], wiring.adjacency_matrix)
    assert model(np.zeros((1, 2, 2)))[0].shape == (1, 2, 1)
    again = wirings.Wiring.from_config(json.loads(json.dumps(wiring.get_config())))
    assert again.digest == wiring.digest
    assert model.wiring.digest == wiring.digest


def test_a_built_wiring_may_get_more_synapses():
    plain, more = wirings.AutoNCP(8, 2), wirings.AutoNCP(8, 2)
    plain.build(3)
    more.build(3)
    source, destination = np.argwhere(more.adjacency_matrix == 0)[0]
    more.add_synapse(int(source), int(destination), 1)
    assert more.digest != plain.digest
    assert LTC(3, more).synapse_count == plain.synapse_count + 1
    assert CfC(3, more).wiring.digest == more.digest


def test_wirings_of_ones_own_with_layers():
    class Chain(wirings.Wiring):
        """Four layers of two neurons."""

        def __init__(self):
            super().__init__(8)
            self.set_output_dim(2)

        @property
        def num_layers(self):
            return 4

        def get_neurons_of_layer(self, layer_id):
            return [6 - 2 * layer_id, 7 - 2 * layer_id]

        def build(self, input_dim):
            super().build(input_dim)
            for layer in range(4):
                for neuron in self.get_neurons_of_layer(layer):
                    if layer == 0:
                        self.add_sensory_synapse(0, neuron, 1)
                    else:
                        self.add_synapse(self.get_neurons_of_layer(layer - 1)[0], neuron, -1)

    model = CfC(3, Chain(), seed=1)
    assert [n for n in model.state_dict() if n.endswith("mask")] == [f"rnn_cell.layer_{i}.sparsity_mask" for i in range(4)]
    np.testing.assert_array_equal(model.state_dict()["rnn_cell.layer_1.sparsity_mask"], [[1, 0, 1, 1], [1, 0, 1, 1]])
    assert model(np.zeros((2, 3, 3)))[0].shape == (2, 3, 2)


def test_any_number_of_hidden_layers():
    deep = wirings.Layered([("inter", 12, 6), ("deep", 8, 4), ("command", 6, 4, 4)], 1, 6)
    deep.build(5)
    assert [(name, len(neurons)) for name, neurons in deep.layers] == [("inter", 12), ("deep", 8), ("command", 6), ("motor", 1)]
    assert wirings.Layered.from_config(deep.get_config()).get_config() == deep.get_config()
    assert CfC(5, deep)(np.zeros((1, 2, 5)))[0].shape == (1, 2, 1)
    two = wirings.Layered([("inter", 10, 6), ("command", 10, 6, 4)], 8, 6)
    two.build(8)
    assert two.digest == "17b3fe3e24689926"  # an NCP


def test_graphs_have_upstreams_names():
    wiring = wirings.AutoNCP(8, 2)
    with pytest.raises(tessera.InvalidArgument, match="has not been built"):
        wiring.get_graph()
    wiring.build(3)
    graph = wiring.get_graph()
    assert graph.nodes["neuron_0"]["neuron_type"] == "motor"
    assert graph.nodes["sensory_2"]["neuron_type"] == "sensory"
    edges = list(graph.edges(data=True))
    assert len(edges) == wiring.synapse_count + wiring.sensory_synapse_count
    excited = sum(data["polarity"] == "excitatory" for _, _, data in edges)
    assert excited == int((wiring.adjacency_matrix > 0).sum() + (wiring.sensory_adjacency_matrix > 0).sum())
    assert wiring.get_graph(include_sensory_neurons=False).number_of_edges() == wiring.synapse_count


def test_drawings(tmp_path):
    wiring = wirings.AutoNCP(8, 2)
    wiring.build(3)
    drawing = wiring.draw_graph(layout="shell", neuron_colors={"command": "tab:cyan"}, draw_labels=True)
    assert drawing.svg.startswith("<svg") and "#17becf" in drawing.svg and "neuron_7" in drawing.svg
    assert ("Motor neurons", "#ff7f0e") in drawing.legend
    assert drawing._repr_svg_() == drawing.svg
    drawing.save(tmp_path / "w.svg")
    assert (tmp_path / "w.svg").read_text() == drawing.svg
    assert "#123456" in wiring.draw_graph(synapse_colors="#123456").svg
    assert "neuron_3" in wiring.to_dot()
    places = set()
    for layout in ("shell", "circular", "layers", "kamada", "random", "spectral", "spiral", "spring"):
        svg = wiring.draw_graph(layout).svg
        assert svg.count("<circle id=") == 11 and "nan" not in svg and "inf" not in svg
        places.add(svg)
    assert len(places) == 8
    with pytest.raises(tessera.InvalidArgument, match="no layout 'tree': shell, circular, layers, kamada"):
        wiring.draw_graph("tree")
    with pytest.raises(tessera.InvalidArgument, match="no color 'tab:pinkish'"):
        wiring.draw_graph(synapse_colors="tab:pinkish")


def test_impossible_wirings_are_refused_when_they_are_made():
    for make, text in (
        (lambda: wirings.NCP(4, 3, 2, 5, 1, 1, 1), "reach 5 neurons of layer 'inter', which has 4"),
        (lambda: wirings.NCP(4, 3, 2, 1, 1, 1, 4), "4 sources among the 3 neurons of layer .command."),
        (lambda: wirings.AutoNCP(6, 4), "4 outputs of 6 units"),
        (lambda: wirings.AutoNCP(20, 4, sparsity_level=0.05), "0.05"),
        (lambda: wirings.Random(4, sparsity_level=1.0), "a sparsity of 1"),
        (lambda: wirings.FullyConnected(4, 5), "5 outputs of 4 units"),
        (lambda: wirings.Wiring(0), "0 units"),
        (lambda: wirings.Layered([("inter", 4)], 1, 1), "a hidden layer is"),
    ):
        with pytest.raises(tessera.InvalidArgument, match=text):
            make()
    built = wirings.AutoNCP(8, 2)
    built.build(3)
    with pytest.raises(tessera.InvalidArgument, match="built for 3 inputs and cannot be built for 4"):
        built.build(4)
    with pytest.raises(tessera.InvalidArgument, match="ncps 1.0.1, which loses the seed"):
        wirings.NCP.from_config({"inter_neurons": [4, 5], "command_neurons": [2, 3], "motor_neurons": [0, 1], "seed": None})
