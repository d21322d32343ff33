"""Sample calls of the public functions in many forms, against differences of what they compute.

The parameters of each call are arrays of this module; all of them vary.
"""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy.sparse import csgraph

from tests.helpers import normal_draws

R, real, cplx = normal_draws(15)


Dn = real(4, 4) * (R.random((4, 4)) < 0.6) + np.diag([3.0, 4, 5, 6])
D2 = real(3, 4) * (R.random((3, 4)) < 0.7)
pat = sp.csr_array(Dn)
ind, ptr = (pat.indices.copy(), pat.indptr.copy())
dat = pat.data.copy()
zdat = dat + 0.3j * real(len(dat))
coo = pat.tocoo()
row, col = (coo.row.copy(), coo.col.copy())
v = real(4)
w = real(4)
V = real(4, 2)
zv = cplx(4)
s = 1.3
diag = np.array([3.0, 4, 5, 6])
d1 = real(3)
d3 = np.stack([real(5), real(5) + 3, real(5)])
bdat = real(2, 2, 2)
off = np.array([-1, 0, 1])


def csr(dat):
    return sp.csr_array((dat, ind, ptr), shape=(4, 4))


def csc(dat):
    return sp.csc_array((dat, ind, ptr), shape=(4, 4))


def matrix(dat):
    return sp.csr_matrix((dat, ind, ptr), shape=(4, 4))


lo = sp.csr_array(np.tril(Dn))
lod = lo.data.copy()


def lower(lod):
    return sp.csr_array((lod, lo.indices, lo.indptr), shape=(4, 4))


def upper(lod):
    return sp.csr_array(lower(lod).T)


G = np.array([[0, 1.3, 2.7, 0], [0.9, 0, 1.1, 4.4], [2.5, 1.2, 0, 0.8], [0, 4.1, 0.7, 0]])
Gs = sp.csr_array(G)
gd = Gs.data.copy()


def graph(gd):
    return sp.csr_array((gd, Gs.indices, Gs.indptr), shape=(4, 4))


big = 12
bd = np.linspace(1, 3, big) + 0.1 * real(big)
be = real(big - 1) * 0.3


def band(bd, be):
    return sp.diags_array([be, bd, be], offsets=[-1, 0, 1], format="csc")


bv = real(big)
bv2 = real(big)


def bands(bd, be):
    return sp.diags_array([0.5 * be, bd, be], offsets=[-1, 0, 1], format="csr")


rect = sp.random_array((6, 4), density=0.6, rng=np.random.default_rng(3), format="csr")
rdat = rect.data + 0.2


def tall(rdat):
    return sp.csr_array((rdat, rect.indices, rect.indptr), shape=(6, 4))


v6 = real(6)
Gm = np.abs(G) + 0.5
Gm[G == 0] = 1.0
G = (G > 0) * 1

CALLS = [
    lambda dat: sp.csr_array((dat, ind, ptr), shape=(4, 4)),
    lambda dat: sp.csr_array((dat, ind, ptr)),
    lambda dat: sp.csr_matrix((dat, ind, ptr), shape=(4, 4)),
    lambda dat: sp.csr_array((dat, (row, col)), shape=(4, 4)),
    lambda dat: sp.csc_array((dat, ind, ptr), shape=(4, 4)),
    lambda dat: sp.csc_array((dat, ind, ptr)),
    lambda dat: sp.csc_matrix((dat, ind, ptr), shape=(4, 4)),
    lambda dat: sp.csc_array((dat, (row, col)), shape=(4, 4)),
    lambda dat: csr(dat).tocoo(),
    lambda dat: sp.coo_array(csr(dat)),
    lambda dat, v: sp.coo_array(csr(dat)) @ v,
    lambda dat: sp.coo_array(csr(dat)).toarray(),
    lambda dat: (sp.coo_array(csr(dat)) * 2.0).T,
    lambda v, dat: v @ sp.coo_array(csr(dat)),
    lambda dat: csr(dat).tobsr(),
    lambda dat: sp.bsr_array(csr(dat)),
    lambda dat, v: sp.bsr_array(csr(dat)) @ v,
    lambda dat: sp.bsr_array(csr(dat)).toarray(),
    lambda dat: (sp.bsr_array(csr(dat)) * 2.0).T,
    lambda v, dat: v @ sp.bsr_array(csr(dat)),
    lambda dat: csr(dat).tolil(),
    lambda dat: sp.lil_array(csr(dat)),
    lambda dat, v: sp.lil_array(csr(dat)) @ v,
    lambda dat: sp.lil_array(csr(dat)).toarray(),
    lambda dat: (sp.lil_array(csr(dat)) * 2.0).T,
    lambda v, dat: v @ sp.lil_array(csr(dat)),
    lambda dat, v: sp.dok_array(csr(dat)) @ v,
    lambda dat: sp.dok_array(csr(dat)).toarray(),
    lambda dat, V: sp.dok_array(csr(dat)) @ V,
    lambda v, dat: v @ sp.dok_array(csr(dat)),
    lambda dat: csr(dat).todia(),
    lambda dat: sp.dia_array(csr(dat)),
    lambda dat, v: sp.dia_array(csr(dat)) @ v,
    lambda dat: sp.dia_array(csr(dat)).toarray(),
    lambda dat: (sp.dia_array(csr(dat)) * 2.0).T,
    lambda v, dat: v @ sp.dia_array(csr(dat)),
    lambda dat: csr(dat).tocsr(),
    lambda dat: (sp.csr_array(csr(dat)) * 2.0).T,
    lambda v, dat: v @ sp.csr_array(csr(dat)),
    lambda dat: csr(dat).tocsc(),
    lambda dat: (sp.csc_array(csr(dat)) * 2.0).T,
    lambda v, dat: v @ sp.csc_array(csr(dat)),
    lambda d1, diag: sp.diags_array([d1, diag, d1], offsets=[-1, 0, 1]),
    lambda diag: sp.diags_array(diag),
    lambda diag: sp.diags_array(diag, offsets=1),
    lambda d1, diag: sp.diags([d1, diag], [1, 0]),
    lambda diag: sp.diags(diag, 0, format="csc"),
    lambda d3: sp.spdiags(d3, off, 5, 5),
    lambda d3: sp.spdiags(d3, [-1, 0, 1], (5, 5), format="csr"),
    lambda s: sp.eye_array(4) * s,
    lambda s: s * sp.identity(3),
    lambda dat, s: sp.block_array([[csr(dat), None], [None, csr(dat) * s]]),
    lambda dat: sp.block_array([[csr(dat), csr(dat).T]], format="csr"),
    lambda dat: sp.bmat([[matrix(dat), None], [None, matrix(dat)]]),
    lambda dat: sp.hstack([csr(dat), csr(dat) * 2]),
    lambda dat, V: sp.hstack([csr(dat), V], format="csr"),
    lambda dat: sp.vstack((matrix(dat), matrix(dat))),
    lambda dat, s: sp.kron(csr(dat), csr(dat) * s, format="csr"),
    lambda dat: sp.kronsum(csr(dat), csr(dat)),
    lambda dat: sp.tril(csr(dat)),
    lambda dat: sp.triu(csr(dat), 1),
    lambda dat: sp.find(csr(dat))[2],
    lambda dat: sp.expand_dims(sp.coo_array(csr(dat)), axis=0),
    lambda dat: sp.swapaxes(sp.coo_array(csr(dat)), 0, 1),
    lambda dat: sp.permute_dims(sp.coo_array(csr(dat)), (1, 0)),
    lambda dat, v: csr(dat) @ v,
    lambda dat, V: csr(dat) @ V,
    lambda v, dat: v @ csr(dat),
    lambda V, dat: V.T @ csr(dat),
    lambda dat: csr(dat) @ csr(dat),
    lambda dat, Dn: csr(dat) @ Dn,
    lambda Dn, dat: Dn @ csr(dat),
    lambda dat, v: csr(dat).dot(v),
    lambda dat, v: csr(dat).T @ v,
    lambda dat: csr(dat).T,
    lambda dat: csr(dat).transpose(),
    lambda dat: csr(dat).conj(),
    lambda zdat, v: csr(zdat).conj().T @ v,
    lambda zdat, zv: csr(zdat) @ zv,
    lambda zdat: csr(zdat).real,
    lambda zdat: csr(zdat).imag,
    lambda dat: csr(dat) + csr(dat),
    lambda dat: csr(dat) - csc(dat),
    lambda dat, s: csr(dat) * s,
    lambda s, dat: s * csr(dat),
    lambda dat, s: csr(dat) / s,
    lambda dat: -csr(dat),
    lambda dat: csr(dat) * csr(dat),
    lambda dat, v: csr(dat) * v,
    lambda dat, Dn: csr(dat) * Dn,
    lambda dat: csr(dat).multiply(csr(dat)),
    lambda dat, v: csr(dat).multiply(v),
    lambda dat, Dn: csr(dat).multiply(Dn),
    lambda dat, v: csr(dat).multiply(v[:, None]),
    lambda dat, Dn: csr(dat) + Dn,
    lambda Dn, dat: Dn - csr(dat),
    lambda dat, Dn: csr(dat) / Dn.clip(1, 2),
    lambda dat: csr(dat).power(2),
    lambda dat: csr(dat) ** 2,
    lambda dat: csr(dat).power(3.0),
    lambda dat, v: matrix(dat) * v,
    lambda dat: matrix(dat) * matrix(dat),
    lambda dat: matrix(dat) ** 2,
    lambda dat: csr(dat).sum(),
    lambda dat: csr(dat).sum(axis=0),
    lambda dat: csr(dat).sum(1),
    lambda dat: csr(dat).sum(axis=-1),
    lambda dat: csr(dat).mean(),
    lambda dat: csr(dat).mean(axis=0),
    lambda dat: csr(dat).mean(axis=1),
    lambda dat: csr(dat).max(),
    lambda dat: csr(dat).min(),
    lambda dat: csr(dat).max(axis=0),
    lambda dat: csr(dat).min(axis=1).toarray(),
    lambda dat: csr(dat).trace(),
    lambda dat: csr(dat).diagonal(),
    lambda dat: csr(dat).diagonal(1),
    lambda dat: csr(dat).toarray(),
    lambda dat: csr(dat).toarray(order="F"),
    lambda dat: csr(dat).todense(),
    lambda dat: csr(dat).data,
    lambda dat, s: csr(dat).data * s,
    lambda dat: csr(dat)[1],
    lambda dat: csr(dat)[1, 2],
    lambda dat: csr(dat)[0, :],
    lambda dat: csr(dat)[:, 1],
    lambda dat: csr(dat)[1:3, :2],
    lambda dat: csr(dat)[[0, 2]],
    lambda dat: csr(dat)[[0, 2], [1, 2]],
    lambda dat: csr(dat)[np.array([0, 2])][:, np.array([1, 3])],
    lambda dat: csr(dat)[csr(dat) > 1],
    lambda dat: csr(dat)[np.array([True, False, True, False])],
    lambda dat: csr(dat)[-1],
    lambda dat: csr(dat)[::2],
    lambda dat: csr(dat).reshape((2, 8)),
    lambda dat: csr(dat).reshape(8, 2),
    lambda dat: csr(dat).copy(),
    lambda dat: csr(dat).astype(complex),
    lambda dat: csr(dat).tocsc().tocoo().tocsr(),
    lambda dat: matrix(dat).getrow(1),
    lambda dat: matrix(dat).getcol(1),
    lambda dat: abs(csr(dat)),
    lambda dat: csr(dat).sin(),
    lambda dat: csr(dat).arctan(),
    lambda dat: csr(dat).sinh(),
    lambda dat: csr(dat).tanh(),
    lambda dat: csr(dat).expm1(),
    lambda dat: (csr(dat) * 0.1).log1p(),
    lambda dat: (csr(dat) * 0.1).arcsin(),
    lambda dat: (csr(dat) * 0.1).arcsinh(),
    lambda dat: (csr(dat) * 0.1).arctanh(),
    lambda dat: csr(dat).deg2rad(),
    lambda dat: csr(dat).rad2deg(),
    lambda dat, s: csr(dat).sign() * s,
    lambda dat, s: csr(dat).rint() * s,
    lambda dat: csr(dat).maximum(csr(dat).T),
    lambda dat: csr(dat).minimum(csr(dat).T),
    lambda dat: csr(dat).maximum(0.5),
    lambda dat, s: csr(dat).minimum(s),
    lambda dat, s: csr(dat).count_nonzero() * s,
    lambda dat, s: csr(dat).nnz * s,
    lambda dat: np.sum(csr(dat).data ** 2),
    lambda dat: np.exp(csr(dat).toarray()),
    lambda dat: csr(dat).eliminate_zeros() or csr(dat),
    lambda dat: csr(dat).sorted_indices(),
    lambda dat: csr(dat).nanmax(),
    lambda dat: csr(dat).nanmin(),
    lambda dat, s: csr(dat).argmax() * s,
    lambda dat, s: csr(dat).tocsr().has_sorted_indices * s,
    lambda dat, v: csr(dat) @ sp.csr_array(v[:, None]),
    lambda dat: sum(csr(dat).data),
    lambda dat, s: csr(dat).resize((3, 3)) or 0.0 * s,
    lambda dat, s: csr(dat).maximum(csr(dat) * s),
    lambda dat, v: np.matmul(csr(dat).toarray(), v),
    lambda dat: csr(dat) != csr(dat),
    lambda dat, s: (csr(dat) > 1) * s,
    lambda dat: np.linalg.norm(csr(dat).toarray()),
    lambda dat: spl.norm(csr(dat)),
    lambda dat: spl.norm(csr(dat), "fro"),
    lambda dat: spl.norm(csr(dat), 1),
    lambda dat: spl.expm(csr(dat) * 0.2),
    lambda dat: spl.expm(csc(dat) * 0.2),
    lambda dat: spl.inv(csc(dat)),
    lambda dat: spl.inv(csr(dat).tocsc()),
    lambda dat: spl.matrix_power(csr(dat), 3),
    lambda dat, s: spl.matrix_power(csr(dat), 0) * s,
    lambda dat: spl.matrix_power(csr(dat), 1),
    lambda Dn, v: spl.expm_multiply(Dn * 0.2, v),
    lambda dat: spl.onenormest(csr(dat)),
    lambda dat, v: spl.spsolve(csr(dat), v),
    lambda dat, v: spl.spsolve(csc(dat), v),
    lambda dat, V: spl.spsolve(csr(dat), V),
    lambda dat, v: spl.splu(csc(dat)).solve(v),
    lambda dat, V: spl.splu(csc(dat)).solve(V),
    lambda dat, v: spl.splu(csc(dat)).solve(v, "T"),
    lambda dat, v: spl.factorized(csc(dat))(v),
    lambda dat, v, s: spl.factorized(csc(dat))(v * s),
    lambda lod, v: spl.spsolve_triangular(lower(lod), v),
    lambda lod, V: spl.spsolve_triangular(lower(lod), V, lower=True),
    lambda lod, v: spl.spsolve_triangular(upper(lod), v, lower=False),
    lambda bd, be, bv: spl.cg(band(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv, bv2: spl.cg(band(bd + 3, be), bv, x0=bv2, rtol=1e-13)[0],
    lambda bd, be, bv: spl.cg(A=band(bd + 3, be), b=bv, rtol=1e-13, maxiter=100)[0],
    lambda bd, be, bv: spl.minres(band(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv, bv2: spl.minres(band(bd + 3, be), bv, x0=bv2, rtol=1e-13)[0],
    lambda bd, be, bv: spl.minres(A=band(bd + 3, be), b=bv, rtol=1e-13, maxiter=100)[0],
    lambda bd, be, bv: spl.bicg(bands(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.bicg(bands(bd + 3, be).toarray(), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.bicgstab(bands(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.bicgstab(bands(bd + 3, be).toarray(), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.cgs(bands(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.cgs(bands(bd + 3, be).toarray(), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.gmres(bands(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.gmres(bands(bd + 3, be).toarray(), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.lgmres(bands(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.lgmres(bands(bd + 3, be).toarray(), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.gcrotmk(bands(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.gcrotmk(bands(bd + 3, be).toarray(), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.qmr(bands(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.qmr(bands(bd + 3, be).toarray(), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.tfqmr(bands(bd + 3, be), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.tfqmr(bands(bd + 3, be).toarray(), bv, rtol=1e-13)[0],
    lambda bd, be, bv: spl.gmres(bands(bd + 3, be), bv, rtol=1e-13, restart=5)[0],
    lambda rdat, v6: spl.lsqr(tall(rdat), v6, atol=1e-14, btol=1e-14)[0],
    lambda rdat, v6: spl.lsqr(tall(rdat), v6, damp=0.7, atol=1e-14, btol=1e-14)[0],
    lambda rdat, v6, s: spl.lsqr(tall(rdat), v6, damp=s, atol=1e-14, btol=1e-14)[0],
    lambda rdat, v6: spl.lsmr(tall(rdat), v6, atol=1e-14, btol=1e-14)[0],
    lambda rdat, v6: spl.lsmr(tall(rdat), v6, damp=0.7, atol=1e-14, btol=1e-14)[0],
    lambda dat, v: spl.aslinearoperator(csr(dat)) @ v,
    lambda dat, v: spl.aslinearoperator(csr(dat)).matvec(v),
    lambda dat, v: spl.aslinearoperator(csr(dat)).rmatvec(v),
    lambda dat, s, v: (spl.aslinearoperator(csr(dat)) * s).matvec(v),
    lambda dat, Dn, v: (spl.aslinearoperator(csr(dat)) + spl.aslinearoperator(Dn)) @ v,
    lambda dat, s, v: spl.LinearOperator((4, 4), matvec=lambda q: csr(dat) @ q * s) @ v,
    lambda v: spl.LaplacianNd((4,), boundary_conditions="dirichlet").toarray() @ v,
    lambda dat, s: spl.spbandwidth(csr(dat))[0] * s,
    lambda gd: csgraph.laplacian(graph(gd)),
    lambda gd: csgraph.laplacian(graph(gd), normed=True),
    lambda Gm: csgraph.laplacian(Gm * (G > 0)),
    lambda gd: csgraph.shortest_path(graph(gd)),
    lambda gd: csgraph.shortest_path(graph(gd), method="BF", indices=[0, 2]),
    lambda gd: csgraph.dijkstra(graph(gd), indices=0),
    lambda gd: csgraph.dijkstra(graph(gd), directed=False),
    lambda gd: csgraph.dijkstra(graph(gd), indices=[0, 1], min_only=True),
    lambda gd: csgraph.bellman_ford(graph(gd)),
    lambda gd: csgraph.johnson(graph(gd)),
    lambda gd: csgraph.floyd_warshall(graph(gd)),
    lambda Gm: csgraph.floyd_warshall(Gm * (G > 0)),
    lambda gd, s: csgraph.connected_components(graph(gd))[0] * s,
    lambda gd, s: csgraph.breadth_first_order(graph(gd), 0)[0] * s,
]


@pytest.mark.parametrize("f", CALLS)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_call(f, check_call):
    check_call(f, *[globals()[name] for name in inspect.signature(f).parameters])
