"""Building blocks of the steps that run a trained model, which import TensorFlow to open it."""
