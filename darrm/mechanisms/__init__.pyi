from darrm.mechanisms.decision import DaRRM as DaRRM
from darrm.mechanisms.decision import PrivateDecision as PrivateDecision
from darrm.mechanisms.noisy_max import GaussianNoisyMax as GaussianNoisyMax
from darrm.mechanisms.noisy_max import LaplaceNoisyMax as LaplaceNoisyMax
from darrm.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from darrm.mechanisms.random_bags import Bags as Bags
from darrm.mechanisms.random_bags import bags as bags
from darrm.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
