#!/usr/bin/env python3
"""A liquid network in a control loop: one sample, one step at a time, steps that take unequal time.

    PYTHONPATH=build/python python3 examples/control_loop.py

A pole is held upright by 19 neurons. The network is not trained: the point is the loop, and that its outputs are those of
the whole sequence at once. Prints the time of a step.
"""

import time

import numpy as np

from tessera.ncps import CfC, wirings

STEPS = 2000


def main():
    random = np.random.default_rng(1)
    model = CfC(4, wirings.NCP(12, 6, 1, 6, 4, 4, 6), seed=1).eval()
    loop = model.stepper()
    sensors = np.zeros(4, np.float32)  # position, speed, angle, angular speed
    sensors[2] = 0.05
    seen, elapsed, forces = [], [], []
    spent = []
    for _ in range(STEPS):
        dt = np.float32(random.uniform(0.01, 0.03))  # sensors are read when they are ready
        seen.append(sensors.copy())
        elapsed.append(dt)
        begin = time.perf_counter_ns()
        force = loop(sensors, dt)
        spent.append(time.perf_counter_ns() - begin)
        forces.append(force)
        x, v, angle, spin = sensors
        acceleration = 9.8 * np.sin(angle) - 2 * float(force[0]) * np.cos(angle)
        angle, spin = angle + dt * spin, spin + dt * acceleration
        sensors[:] = x + dt * v, v + dt * float(force[0]), (angle + np.pi) % (2 * np.pi) - np.pi, 0.99 * spin
    whole, state = model(np.array(seen), timespans=np.array(elapsed))
    difference = np.abs(whole - np.array(forces)).max()
    print(f"{STEPS} steps, the loop and the sequence differ by {difference:.1e}")
    print(f"a step takes {np.median(spent) / 1000:.1f} us in Python")
    assert difference < 1e-5 and np.abs(state - loop.state).max() < 1e-5


if __name__ == "__main__":
    main()
