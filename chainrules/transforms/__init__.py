"""Rules of transforms: Fourier transforms and their kin, convolutions."""
