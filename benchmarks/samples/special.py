"""scipy.special."""

import scipy.special as sp

from benchmarks.samples import complexes, positive, reals, sample, uniform, unit

N = 50_000
A, P, Q, U = reals(N), positive(N), positive(N, seed=1), unit(N)

SAMPLES = [
    *[sample(f, P) for f in (sp.j0, sp.j1, sp.y0, sp.y1, sp.i0, sp.i1, sp.k0, sp.k1)],
    *[sample(f, P) for f in (sp.i0e, sp.i1e, sp.k0e, sp.k1e)],
    *[sample(f, 1.5, P[:5000]) for f in (sp.jv, sp.yv, sp.iv, sp.kv)],
    *[sample(f, P) for f in (sp.exp2, sp.exp10, sp.expm1, sp.log1p, sp.cbrt, sp.cosm1)],
    *[sample(f, P) for f in (sp.sindg, sp.cosdg, sp.tandg, sp.cotdg, sp.exprel)],
    sample(sp.radian, P, Q, P),
    sample(sp.powm1, P, Q),
    sample(sp.boxcox, P, Q),
    sample(sp.boxcox1p, P, Q),
    sample(sp.expit, A),
    sample(sp.logit, U),
    sample(sp.log_expit, A),
    sample(sp.xlogy, P, Q),
    sample(sp.xlog1py, P, Q),
    sample(sp.entr, P),
    sample(sp.rel_entr, P, Q),
    sample(sp.kl_div, P, Q),
    *[sample(f, A) for f in (sp.erf, sp.erfc, sp.erfcx, sp.erfi, sp.dawsn, sp.fresnel)],
    *[sample(f, U) for f in (sp.erfinv, sp.erfcinv, sp.ndtri)],
    sample(sp.ndtri_exp, -P),
    sample(sp.wofz, complexes(N)),
    *[sample(f, A) for f in (sp.ndtr, sp.log_ndtr)],
    *[sample(f, P) for f in (sp.gammaln, sp.loggamma, sp.gamma, sp.psi, sp.rgamma)],
    sample(sp.loggamma, complexes(N), note="complex"),
    sample(sp.zeta, uniform(2.0, 4.0, N), P),
    sample(sp.zeta, uniform(2.0, 4.0, 5000), note="Riemann"),
    sample(sp.polygamma, 1, P),
    sample(sp.beta, P, Q),
    sample(sp.betaln, P, Q),
    sample(sp.poch, P, Q),
    sample(sp.binom, P, Q),
    sample(sp.multigammaln, 2 + P, 3),
    *[sample(f, 1.5, P) for f in (sp.gammainc, sp.gammaincc)],
    *[sample(f, 1.5, U) for f in (sp.gammaincinv, sp.gammainccinv)],
    sample(sp.logsumexp, A),
    sample(sp.logsumexp, reals(200, 250), axis=1, note="axis=1"),
    sample(sp.softmax, reals(200, 250), axis=1),
    sample(sp.log_softmax, reals(200, 250), axis=1),
]
