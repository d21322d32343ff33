"""Statistics and machine learning: scikit-learn, statsmodels, lifelines, pyhf and others."""

import numpy as np

from tests.packages.table import M, V, call, imported

sklearn = imported("sklearn")
statsmodels = imported("statsmodels")
lifelines = imported("lifelines")
pyhf = imported("pyhf")
arch = imported("arch")
lmfit = imported("lmfit")
emcee = imported("emcee")
quantecon = imported("quantecon")
patsy = imported("patsy")
tensorly = imported("tensorly")
pykalman = imported("pykalman")
numpy_financial = imported("numpy_financial")
einops = imported("einops")
opt_einsum = imported("opt_einsum")
if sklearn is not None:
    from sklearn.cluster import KMeans
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.decomposition import PCA
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
    from sklearn.metrics import log_loss, mean_squared_error, r2_score
    from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances, rbf_kernel
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler
    from sklearn.utils.extmath import softmax
if statsmodels is not None:
    import statsmodels.api as sm
    from statsmodels.distributions.empirical_distribution import ECDF
    from statsmodels.nonparametric.kde import KDEUnivariate
    from statsmodels.tsa.arima_process import arma_acovf
    from statsmodels.tsa.stattools import acf, acovf

X = np.array([[1.0, 0.3], [1.0, 1.1], [1.0, 2.3], [1.0, 0.9], [1.0, 1.8]])
Y = np.array([0.0, 1.0, 1.0, 0.0, 1.0])


@call(sklearn, V)
def squared_error(p):
    return mean_squared_error(V**2, p)


@call(sklearn, V)
def r2(p):
    return r2_score(V**2, p)


@call(sklearn, np.array([0.2, 0.7, 0.8, 0.4, 0.6]))
def cross_entropy(p):
    return log_loss(Y, p)


@call(sklearn, M)
def kernel(x):
    return rbf_kernel(x, M[:2] + 0.3, gamma=0.5).sum()


@call(sklearn, M)
def cosine(x):
    return cosine_similarity(x, M[:2] + 0.3).sum()


@call(sklearn, M)
def distances(x):
    return euclidean_distances(x, M[:2] + 0.3).sum()


@call(sklearn, V)
def linear_regression_predicts(x):
    return LinearRegression().fit(X, V).predict(x.reshape(-1, 1) * [1.0, 2.0]).sum()


@call(sklearn, V)
def ridge_fits(y):
    return Ridge(alpha=0.5).fit(X, y).predict(X[:2]).sum()


@call(sklearn, V)
def linear_regression_fits(y):
    return LinearRegression().fit(X, y).coef_[1] ** 2


@call(sklearn, V)
def kernel_ridge_fits(y):
    return KernelRidge(alpha=0.5, kernel="rbf").fit(X, y).predict(X[:2] + 0.1).sum()


@call(sklearn, 1.3)
def kernel_of_gaussian_process(length):
    return (ConstantKernel(2.0) * RBF(length) + WhiteKernel(0.1))(X).sum()


@call(sklearn, 1.3)
def kernel_matern(length):
    return Matern(length, nu=1.5)(X, X[:2] + 0.1).sum()


@call(sklearn, X[:2] + 0.1)
def gaussian_process_predicts(x):
    gp = GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None).fit(X, V)
    return gp.predict(x).sum()


@call(sklearn, X[:2] + 0.1)
def logistic_regression_probability(x):
    return LogisticRegression().fit(X, Y).predict_proba(x)[:, 1].sum()


@call(sklearn, X[:2] + 0.1)
def perceptron_predicts(x):
    network = MLPRegressor(hidden_layer_sizes=(3,), max_iter=2000, random_state=0, tol=1e-2).fit(
        X, V
    )
    return network.predict(x).sum()


@call(sklearn, X)
def scaler(x):
    return (StandardScaler().fit_transform(x)[:, 1] * V).sum()


@call(sklearn, X)
def polynomial_features(x):
    return PolynomialFeatures(2).fit_transform(x).sum()


@call(sklearn, M)
def principal_components_transform(x):
    return (PCA(2, svd_solver="full").fit(M).transform(x) ** 2).sum()


@call(sklearn, M)
def k_means_distances(x):
    return KMeans(2, n_init=1, random_state=0).fit(M + 0.3).transform(x).sum()


@call(sklearn, V, "written into an array")
def partial_least_squares(y):
    return PLSRegression(1).fit(X, y).predict(X[:2]).sum()


@call(sklearn, M)
def softmax_rows(x):
    return (softmax(x) * M).sum()


@call(statsmodels, np.array([0.4, 0.9]))
def likelihood_logit(p):
    return sm.Logit(Y, X).loglike(p)


@call(statsmodels, np.array([0.4, 0.9]))
def likelihood_ols(p):
    return sm.OLS(V, X).loglike(p)


@call(statsmodels, np.array([0.4, 0.2]))
def likelihood_poisson(p):
    return sm.Poisson(np.array([0, 2, 3, 1, 2]), X).loglike(p)


@call(statsmodels, np.array([0.4, 0.2]))
def likelihood_glm(p):
    return sm.GLM(V, X, family=sm.families.Gamma(sm.families.links.Log())).loglike(p)


@call(statsmodels, V)
def least_squares_fit(y):
    return (sm.OLS(y, X).fit().params ** 2).sum()


@call(statsmodels, V)
def weighted_least_squares(w):
    return sm.WLS(V, X, weights=w).fit().params[1]


@call(statsmodels, V)
def autocovariance(x):
    return acovf(x, fft=False).sum() + acf(x, nlags=2, fft=False)[1]


@call(statsmodels, 0.4)
def arma_covariance(a):
    return arma_acovf([1.0, -a], [1.0, 0.3], nobs=4)[2]


@call(statsmodels, 0.8)
def empirical_distribution(x):
    return ECDF(V)(x) + x


@call(statsmodels, 0.8)
def kernel_density(x):
    kde = KDEUnivariate(V)
    kde.fit(bw=0.5, fft=False)
    return kde.evaluate(np.atleast_1d(x))[0]


@call(lifelines, 1.7)
def weibull_hazard(a):
    fitter = lifelines.WeibullFitter()
    return fitter._cumulative_hazard([a, 1.3], V).sum()


@call(lifelines, 0.4)
def concordant_log_normal(mu):
    return lifelines.LogNormalFitter()._cumulative_hazard([mu, 0.8], V).sum()


@call(pyhf, np.array([1.1, 0.95, 1.03]))
def histfactory(p):
    model = pyhf.simplemodels.uncorrelated_background([5.0, 10.0], [50.0, 60.0], [5.0, 12.0])
    return model.logpdf(p, [55.0, 65.0, *model.config.auxdata])[0]


@call(pyhf, 1.2)
def expected_data(mu):
    model = pyhf.simplemodels.uncorrelated_background([5.0, 10.0], [50.0, 60.0], [5.0, 12.0])
    return np.sum(model.expected_data(np.array([mu, 1.0, 1.0])) ** 2)


@call(arch, V / 3)
def garch_variance(x):
    from arch.univariate import ConstantMean

    return ConstantMean(V).resids(x[:1]).sum() + x.sum()


@call(lmfit, np.array([1.2, 0.9]))
def lmfit_model(p):
    model = lmfit.models.GaussianModel()
    return model.eval(x=V, amplitude=p[0], center=p[1], sigma=0.7).sum()


@call(lmfit, 1.2)
def lmfit_shape(sigma):
    return lmfit.lineshapes.voigt(V, 1.0, 0.5, sigma, 0.3).sum()


@call(emcee, V)
def autocorrelation(x):
    return emcee.autocorr.function_1d(x).sum()


@call(quantecon, M / 5)
def lyapunov(a):
    return quantecon.solve_discrete_lyapunov(a, np.eye(3)).sum()


@call(quantecon, V)
def gini(x):
    return quantecon.gini_coefficient(x)


@call(patsy, V, "_eval_bspline_basis")
def spline_basis(x):
    return patsy.dmatrix("bs(x, df=4) - 1", {"x": x}, return_type="matrix").sum()


@call(tensorly, M)
def khatri_rao(a):
    return (tensorly.tenalg.khatri_rao([a, M]) ** 2).sum()


@call(tensorly, M)
def cp_reconstruction(a):
    return (tensorly.cp_to_tensor((None, [a, M, M])) ** 2).sum()


@call(pykalman, 0.3, "MaskedArray, a class of arrays")
def kalman_likelihood(q):
    filter_ = pykalman.KalmanFilter(transition_covariance=np.array([[1.0]]) * q, n_dim_obs=1)
    return filter_.loglikelihood(V)


@call(numpy_financial, 0.05)
def net_present_value(rate):
    return numpy_financial.npv(rate, [-100.0, 39.0, 59.0, 55.0, 20.0])


@call(numpy_financial, 0.05)
def payment(rate):
    return numpy_financial.pmt(rate / 12, 120, 1000.0) + numpy_financial.fv(rate, 10, -5.0, -100.0)


@call(einops, np.arange(12.0).reshape(3, 4))
def einops_reduce(x):
    return (einops.reduce(x, "a (b c) -> b", "mean", c=2) ** 2).sum()


@call(einops, np.arange(12.0).reshape(3, 4))
def einops_rearrange(x):
    return (einops.rearrange(x, "a (b c) -> c (a b)", c=2)[0] ** 2).sum()


@call(opt_einsum, M)
def contraction(x):
    return opt_einsum.contract("ij,jk,kl->il", x, M, x).sum()
