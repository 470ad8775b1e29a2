"""The rules of bsuite's DeepSea in plain NumPy, with chance made an argument."""

import numpy as np


class BsuiteDeepSea:
    """One diver. `slip` and `noise` stand for the two draws of the stochastic variant."""

    def __init__(self, size, mapping_seed=42, randomize_actions=True):
        self.size = size
        self.right_action = np.ones((size, size), int)
        if randomize_actions:
            self.right_action = np.random.RandomState(mapping_seed).binomial(1, 0.5, [size, size])
        self.reset()

    def reset(self):
        self.row, self.column = 0, 0
        return self.picture()

    def picture(self):
        """All zeros once the diver has left the grid."""
        image = np.zeros((self.size, self.size), np.float32)
        if self.row < self.size:
            image[self.row, self.column] = 1
        return image

    def goes_right(self, action):
        return action == self.right_action[self.row, self.column]

    def in_noisy_corner(self):
        return self.row == self.size - 1 and self.column in (0, self.size - 1)

    def step(self, action, slip=False, noise=0.0):
        """Picture, reward and whether the episode is over. Rewards look at the cell the action is taken in."""
        right, reward = self.goes_right(action), 0.0
        if right:
            reward -= 0.01 / self.size
            if self.column == self.size - 1:
                reward += 1.0
        if self.in_noisy_corner():
            reward += noise
        if right and not slip:
            self.column = min(self.column + 1, self.size - 1)
        if not right:
            self.column = max(self.column - 1, 0)
        self.row += 1
        return self.picture(), reward, self.row == self.size


def best_expected_return(size, slip_probability):
    """The optimum by backward induction over all cells; noise has mean zero and does not matter."""
    value = np.zeros(size)
    for _row in reversed(range(size)):
        left = value[np.maximum(np.arange(size) - 1, 0)]
        moved = value[np.minimum(np.arange(size) + 1, size - 1)]
        treasure = np.arange(size) == size - 1
        right = treasure - 0.01 / size + (1 - slip_probability) * moved + slip_probability * value
        value = np.maximum(left, right)
    return value[0]
