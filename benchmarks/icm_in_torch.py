"""A2C with ICM in Hallway-10-10 once more, in PyTorch: does derl do what it should where its number is not the paper's?

pip install torch                                # not among derl's requirements
python benchmarks/icm_in_torch.py --seeds 8      # about two minutes a seed

Nothing here is shared with derl: networks, Adam, automatic differentiation and initialisation are PyTorch's, the task
and the loop are written anew from what the paper and its code are known to do. Prints at which evaluation each seed
first reaches the goal, and how the bonus falls.
"""

import argparse
import itertools
import math

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]

LEFT, RIGHT = 10, 10
CELLS, ACTIONS, ENVS, STEPS, HORIZON = LEFT + 1 + RIGHT, 3, 4, 5, 2 * LEFT
GAMMA, ENTROPY, VALUE = 0.99, 1e-4, 0.5
FORWARD, INVERSE, ICM_RATE = 5.0, 0.5, 1e-6
"""ICM's coefficients and learning rate: those of the paper in Hallway."""


ROOT_TWO = math.sqrt(2)


class Network(nn.Module):
    """A multilayer perceptron with orthogonal weights."""

    def __init__(self, sizes, activation, *, activate_output=False, last_gain=ROOT_TWO):
        super().__init__()
        self.layers, self.activation, self.activate_output = nn.ModuleList(), activation, activate_output
        for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
            layer = nn.Linear(inputs, outputs)
            nn.init.orthogonal_(layer.weight, last_gain if i == len(sizes) - 2 else ROOT_TWO)
            nn.init.zeros_(layer.bias)
            self.layers.append(layer)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if self.activate_output or i < len(self.layers) - 1:
                x = self.activation(x)
        return x


class Hallways:
    """Four copies of Hallway, whose episodes all end at the same time."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.place, self.time = np.zeros(ENVS, int), 0
        self.reached, self.stays = np.zeros(ENVS, bool), np.zeros(ENVS, int)

    def step(self, action):
        """Rewards, and whether the episodes ended. If they did, all copies are at the start again."""
        self.place = np.clip(self.place + action - 1, 0, CELLS - 1)
        at_goal = self.place == LEFT
        arrived, stayed = at_goal & ~self.reached, at_goal & (action == 1) & self.reached
        self.stays = self.stays + stayed
        paid = self.stays >= 10
        self.stays[paid] = 0
        self.reached |= at_goal
        self.time += 1
        reward = arrived + paid - 0.01 * (action != 0)
        ended = self.time >= HORIZON
        if ended:
            self.reset()
        return reward, ended


class ICM:
    """The three networks, and one gradient step on every time step's transitions."""

    def __init__(self):
        relu = functional.relu
        self.encoder = Network([CELLS, 64, 64, 16], relu, activate_output=True)
        self.successor = Network([16 + ACTIONS, 64, 16], relu, activate_output=True)
        self.action = Network([32, 64, ACTIONS], relu, activate_output=True)
        networks = (self.encoder, self.successor, self.action)
        self.weights = [weight for network in networks for weight in network.parameters()]
        self.adam = torch.optim.Adam(self.weights, ICM_RATE)

    def reward(self, obs, action, next_obs):
        """Half the squared error, before it is learned from."""
        state, following = self.encoder(obs), self.encoder(next_obs)
        predicted = self.successor(torch.cat([state, functional.one_hot(action, ACTIONS).float()], 1))
        error = 0.5 * ((predicted - following) ** 2).sum(1)
        surprise = functional.cross_entropy(self.action(torch.cat([state, following], 1)), action)
        descend(self.adam, self.weights, FORWARD * error.mean() + INVERSE * surprise, 40.0)
        return error.detach()


def descend(adam, weights, loss, largest_norm):
    """One step of Adam on a clipped gradient."""
    adam.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(weights, largest_norm)
    adam.step()


def greedy_return(actor, one_hot):
    """Of an episode in which the most probable action is always taken."""
    with torch.no_grad():
        policy = actor(one_hot).argmax(-1).numpy()
    env, total, ended = Hallways(), 0.0, False
    while not ended:
        reward, ended = env.step(policy[env.place])
        total += float(reward[0])
    return total


def train(seed, episodes):
    """The greedy return after every 1,000 episodes, and the mean bonus between them."""
    torch.manual_seed(seed)
    one_hot = torch.eye(CELLS)
    actor = Network([CELLS, 64, 64, ACTIONS], torch.tanh, last_gain=0.01)
    critic = Network([CELLS, 64, 64, 1], torch.tanh)
    weights = [*actor.parameters(), *critic.parameters()]
    adam = torch.optim.Adam(weights, 3e-4, eps=1e-3)
    icm, env, done, returns, bonuses, recent = ICM(), Hallways(), 0, [], [], []
    while done < episodes:
        seen, actions, rewards, goes_on = [], [], [], []
        for _ in range(STEPS):
            obs = one_hot[env.place]
            with torch.no_grad():
                action = torch.distributions.Categorical(logits=actor(obs)).sample()
            reward, ended = env.step(action.numpy())
            # At an episode's end the next one's start, as in the paper's code.
            bonus = icm.reward(obs, action, one_hot[env.place])
            recent.append(bonus.mean().item())
            done += ENVS * ended
            seen.append(obs)
            actions.append(action)
            rewards.append(torch.tensor(reward, dtype=torch.float32) + bonus)
            goes_on.append(1.0 - ended)
        with torch.no_grad():
            target, targets = critic(one_hot[env.place])[:, 0], []
        for reward, alive in zip(reversed(rewards), reversed(goes_on), strict=True):
            target = reward + GAMMA * alive * target
            targets.insert(0, target)
        obs, action, target = torch.cat(seen), torch.cat(actions), torch.cat(targets)
        log_pi = functional.log_softmax(actor(obs), -1)
        advantage = target - critic(obs)[:, 0]
        chosen = log_pi.gather(1, action[:, None])[:, 0]
        entropy = -(log_pi.exp() * log_pi).sum(1).mean()
        loss = -(advantage.detach() * chosen).mean() + VALUE * (advantage**2).mean() - ENTROPY * entropy
        descend(adam, weights, loss, 0.5)
        if done >= 1_000 * (len(returns) + 1):
            returns.append(greedy_return(actor, one_hot))
            bonuses.append(float(np.mean(recent)))
            recent = []
    return returns, bonuses


def main() -> None:
    """Train some seeds, and tell which of them learn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--episodes", type=int, default=10_000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    learnt = 0
    for seed in range(arguments.seeds):
        returns, bonuses = train(seed, arguments.episodes)
        first = next((1_000 * (i + 1) for i, value in enumerate(returns) if value > 0.5), None)
        learnt += first is not None
        print(
            f"seed {seed}: reaches the goal from episode {first}; bonus {bonuses[0]:.3f} to {bonuses[-1]:.3f}",
            flush=True,
        )
    print(f"{learnt} of {arguments.seeds} seeds learn")


if __name__ == "__main__":
    main()
