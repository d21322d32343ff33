"""Rules for Python's builtins and operators, NumPy and SciPy: importing it registers them."""

from chainrules.elementwise import arithmetic as arithmetic
from chainrules import nondifferentiable as nondifferentiable
from chainrules.elementwise import exponential as exponential
from chainrules.elementwise import trigonometric as trigonometric
from chainrules.elementwise import hyperbolic as hyperbolic
from chainrules.elementwise import bessel as bessel
from chainrules.elementwise import complex as complex
from chainrules.elementwise import selection as selection
from chainrules.elementwise import rounding as rounding
from chainrules.builtins import numbers as numbers
from chainrules.builtins import higher_order as higher_order
from chainrules import refused as refused
from chainrules.indexing import getting as getting
from chainrules.indexing import taking as taking
from chainrules.indexing import diagonals as diagonals
from chainrules.shapes import reshaping as reshaping
from chainrules.shapes import permuting as permuting
from chainrules.shapes import repeating as repeating
from chainrules.shapes import joining as joining
from chainrules.shapes import splitting as splitting
from chainrules.shapes import inserting as inserting
from chainrules.shapes import padding as padding
from chainrules.shapes import trimming as trimming
from chainrules.shapes import windows as windows
from chainrules import creation as creation
from chainrules import grids as grids
from chainrules.reductions import sums as sums
from chainrules.reductions import products as products
from chainrules.reductions import moments as moments
from chainrules.reductions import extrema as extrema
from chainrules.reductions import order as order
from chainrules.reductions import quantiles as quantiles
from chainrules.reductions import covariance as covariance
from chainrules.reductions import cumulative as cumulative
from chainrules.reductions import differences as differences
from chainrules.reductions import ufunc_methods as ufunc_methods
from chainrules.linalg import products as linear_products
from chainrules.linalg import chains as chains
from chainrules.linalg import einsum as einsum
from chainrules.linalg import solving as solving
from chainrules.linalg import determinants as determinants
from chainrules.linalg import cholesky as cholesky
from chainrules.linalg import norms as norms
from chainrules.linalg import orthogonal as orthogonal
from chainrules.linalg import spectral as spectral
from chainrules.linalg import singular as singular
from chainrules.linalg import least_squares as least_squares
from chainrules.transforms import fourier as fourier
from chainrules.transforms import convolution as convolution
from chainrules.calculus import interpolation as interpolation
from chainrules.calculus import histograms as histograms
from chainrules.calculus import polynomials as polynomials

from chainrules_core import when_imported as _when_imported

_when_imported("numpy.random", "chainrules.random")
_when_imported("numpy.ma", "chainrules.masked")
_when_imported("numpy.polynomial", "chainrules.calculus.polynomial_families")
_when_imported("numpy.polynomial", "chainrules.calculus.series")
_when_imported("statistics", "chainrules.builtins.statistics")
_when_imported("decimal", "chainrules.builtins.exact")
_when_imported("json", "chainrules.builtins.texts")
_when_imported("scipy.special", "chainrules.scipy.special")
_when_imported("scipy.stats", "chainrules.scipy.stats")
_when_imported("scipy.fft", "chainrules.scipy.fft")
_when_imported("scipy.fftpack", "chainrules.scipy.fftpack")
_when_imported("scipy.ndimage", "chainrules.scipy.ndimage")
_when_imported("scipy.optimize", "chainrules.scipy.optimize")
_when_imported("scipy.signal", "chainrules.scipy.signal")
_when_imported("scipy.interpolate", "chainrules.scipy.interpolate")
_when_imported("scipy.spatial", "chainrules.scipy.spatial")
_when_imported("scipy.cluster.vq", "chainrules.scipy.cluster")
_when_imported("scipy.integrate", "chainrules.scipy.integrate")
_when_imported("scipy.linalg", "chainrules.scipy.linalg")
_when_imported("scipy.sparse", "chainrules.scipy.sparse")
