from darrm.baselines.noise_functions import constant as constant
from darrm.baselines.noise_functions import double_subsampling as double_subsampling
from darrm.baselines.noise_functions import from_accuracy as from_accuracy
from darrm.baselines.noise_functions import largest_constant as largest_constant
from darrm.baselines.noise_functions import plain_majority as plain_majority
from darrm.baselines.noise_functions import subsampling as subsampling
