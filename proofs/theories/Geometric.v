(** One-sided geometric noise (geometric.rs): P[n] = (1 − q) q^n with q = e^−1/scale.

    [CKS20] algorithm 2, its one-sided part. *)

From Coq Require Import Reals Lra Lia Arith NArith ZArith.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Model Uniform Bernoulli.
Open Scope R_scope.

Lemma exp_pow x n : exp x ^ n = exp (INR n * x).
Proof.
  induction n as [|n IH]; [cbn; rewrite Rmult_0_l, exp_0; reflexivity|].
  rewrite S_INR. cbn [pow]. rewrite IH, <- exp_plus. f_equal. lra.
Qed.

Lemma exp_minus_lt_1 x : 0 < x -> 0 < exp (- x) < 1.
Proof. intros pos. split; [apply exp_pos|]. replace 1 with (exp 0) by apply exp_0. apply exp_increasing. lra. Qed.

Lemma sums_real f g v : (forall i, 0 <= f i <= g i) -> sums g v -> sums f (real (Lim_seq (fun n => sum n f))).
Proof.
  intros dom h. destruct (sums_dominated f g v dom h) as [u [hu _]]. unfold sums in *.
  now rewrite (is_lim_seq_unique _ _ hu).
Qed.

Lemma sums_sum n (c : nat -> R) (f : nat -> nat -> R) (v : nat -> R) :
  (forall i, sums (f i) (v i)) -> sums (fun k => sum n (fun i => c i * f i k)) (sum n (fun i => c i * v i)).
Proof.
  intros each. induction n as [|n IH]; cbn [sum].
  - apply (is_lim_seq_ext (fun _ => 0)); [intros; now rewrite sum_zero|apply is_lim_seq_const].
  - apply sums_plus; [exact IH|]. apply sums_scale, each.
Qed.

(** The law with ratio [q]: [f] on average. *)
Definition geometric_sums (q : R) (f : N -> R) (v : R) : Prop := sums (fun n => (1 - q) * q ^ n * f (N.of_nat n)) v.

Lemma geometric_total q : 0 <= q < 1 -> sums (fun n => (1 - q) * q ^ n) 1.
Proof.
  intros hq. assert (h := sums_scale _ (1 - q) _ (sums_pow q hq)).
  replace ((1 - q) * / (1 - q)) with 1 in h by (field; lra). exact h.
Qed.

Lemma geometric_dominated q f : 0 <= q < 1 -> test f ->
  forall n, 0 <= (1 - q) * q ^ n * f (N.of_nat n) <= (1 - q) * q ^ n.
Proof.
  intros hq unit_f n. pose proof (unit_f (N.of_nat n)). assert (0 <= q ^ n) by (apply pow_le; lra).
  assert (0 <= (1 - q) * q ^ n) by nra. split; nra.
Qed.

Theorem ev_run f v : test f -> geometric_sums (exp (- (1))) f v -> Ev run_of_exp_minus_one f v.
Proof.
  intros unit_f h. set (q := exp (- (1))) in *.
  assert (hq : 0 < q < 1) by (apply exp_minus_lt_1; lra).
  apply ev_iter with (l := fun n r => sum n (fun i => (1 - q) * q ^ i * f (r + N.of_nat i)%N)).
  - exact unit_f.
  - reflexivity.
  - intros n r. rewrite sum_first.
    set (l := fun r => sum n (fun i => (1 - q) * q ^ i * f (r + N.of_nat i)%N)).
    assert (unit_l : test l).
    { intros r'. unfold l.
      assert (dom := fun i => geometric_dominated q (fun x => f (r' + x)%N) ltac:(lra) (fun x => unit_f _) i).
      split; [apply sum_pos; intros i; apply dom|].
      eapply Rle_trans; [apply sum_le; intros i _; apply dom|].
      apply (sums_above (fun n => (1 - q) * q ^ n) 1 n); [|apply geometric_total; lra].
      intros i. apply Rmult_le_pos; [lra|]. apply pow_le; lra. }
    apply ev_bind with (fun c : bool => if c then l (r + 1)%N else f r).
    + now apply test_round.
    + intros c. eapply ev_eq; [|apply ev_ret]. now destruct c.
    + eapply ev_eq; [|apply coin_exp_minus_one; intros c; destruct c; [apply unit_l|apply unit_f]].
      fold q. cbn beta iota. unfold l. rewrite <- sum_scale, Rplus_comm.
      apply f_equal2; [rewrite N.add_0_r; cbn [pow]; lra|].
      apply sum_ext; intros i _. rewrite <- N.add_assoc. replace (1 + N.of_nat i)%N with (N.of_nat (S i)) by lia.
      cbn [pow]. lra.
  - exact h.
Qed.

Theorem ev_remainder s f : (0 < s)%N -> test f ->
  let p := exp (- (1 / NR s)) in
  Ev (geometric_remainder s) f ((1 - p) / (1 - p ^ N.to_nat s) * sum (N.to_nat s) (fun u => p ^ u * f (N.of_nat u))).
Proof.
  intros pos unit_f p.
  assert (s_pos : 0 < NR s) by (apply lt_0_INR; lia).
  assert (hp : 0 < p < 1).
  { apply exp_minus_lt_1. unfold Rdiv. rewrite Rmult_1_l. now apply Rinv_0_lt_compat. }
  assert (power : forall i, exp (- (NR (N.of_nat i) / NR s)) = p ^ i).
  { intros i. unfold p. rewrite exp_pow. f_equal. unfold NR at 1. rewrite Nat2N.id. field. lra. }
  assert (less : p ^ N.to_nat s < 1) by (apply pow_lt_1_compat; [lra|lia]).
  assert (total : sum (N.to_nat s) (fun i => p ^ i) = (1 - p ^ N.to_nat s) / (1 - p)).
  { rewrite <- (sum_pow (N.to_nat s) p). field. lra. }
  assert (h : Ev (geometric_remainder s) f
    (sum (N.to_nat s) (fun i => exp (- (NR (N.of_nat i) / NR s)) * f (N.of_nat i))
      / sum (N.to_nat s) (fun i => exp (- (NR (N.of_nat i) / NR s))))).
  { apply (ev_weighted (below_big s) (N.to_nat s)
      (fun candidate => coin <- exp_minus candidate s;; Ret (if coin then Some candidate else None))
      (fun u => exp (- (NR u / NR s)))).
    - lia.
    - intros g unit_g. now apply ev_below_big.
    - intros u. apply (coin_exp_minus u s pos).
    - intros u g unit_g.
      apply ev_bind with (fun c : bool => if c then g (Some u) else g None).
      + exact unit_g.
      + intros c. eapply ev_eq; [|apply ev_ret]. now destruct c.
      + apply (coin_exp_minus u s pos). intros c. destruct c; apply unit_g.
    - rewrite (sum_ext _ _ (fun i => p ^ i)) by (intros; apply power). rewrite total.
      apply Rdiv_lt_0_compat; lra.
    - exact unit_f. }
  eapply ev_eq; [|exact h].
  rewrite (sum_ext _ (fun i => exp (- (NR (N.of_nat i) / NR s))) (fun i => p ^ i)) by (intros; apply power).
  rewrite (sum_ext _ (fun i => exp (- (NR (N.of_nat i) / NR s)) * f (N.of_nat i)) (fun i => p ^ i * f (N.of_nat i)))
    by (intros; now rewrite power).
  rewrite total. field. lra.
Qed.

(** The ratio of the geometric law of scale s/t. *)
Definition ratio_of (s t : N) : R := exp (- (NR t / NR s)).

Lemma ratio_bounds s t : (0 < s)%N -> (0 < t)%N -> 0 < ratio_of s t < 1.
Proof. intros hs ht. apply exp_minus_lt_1. apply Rdiv_lt_0_compat; apply lt_0_INR; lia. Qed.

Theorem ev_geometric s t f v : (0 < s)%N -> (0 < t)%N -> test f ->
  geometric_sums (ratio_of s t) f v -> Ev (geometric s t) f v.
Proof.
  intros hs ht unit_f hv.
  set (p := exp (- (1 / NR s))). set (m := N.to_nat s). set (n := N.to_nat t).
  assert (s_pos : 0 < NR s) by (apply lt_0_INR; lia).
  assert (hp : 0 < p < 1).
  { apply exp_minus_lt_1. unfold Rdiv. rewrite Rmult_1_l. now apply Rinv_0_lt_compat. }
  assert (pows : forall i, 0 <= p ^ i) by (intros; apply pow_le; lra).
  assert (some_m : (0 < m)%nat) by (unfold m; lia). assert (some_n : (0 < n)%nat) by (unfold n; lia).
  assert (qt : ratio_of s t = p ^ n).
  { unfold ratio_of, p. rewrite exp_pow. f_equal. unfold NR at 1. fold n. field. lra. }
  assert (e1 : exp (- (1)) = p ^ m).
  { unfold p. rewrite exp_pow. f_equal. fold (NR s). unfold m. fold (NR s). field. lra. }
  assert (less : 0 < p ^ m < 1) by (rewrite <- e1; apply exp_minus_lt_1; lra).
  set (g := fun x => f (x / t)%N).
  assert (unit_g : test g) by (intros x; apply unit_f).
  (* over all x *)
  assert (over_x : sums (fun x => (1 - p) * p ^ x * g (N.of_nat x)) v).
  { apply (sums_rows_inv _ n); [exact some_n| |].
    - intros i. pose proof (unit_g (N.of_nat i)). pose proof (pows i). apply Rmult_le_pos; [nra|lra].
    - eapply sums_ext; [|exact hv]. intros k. cbn beta. rewrite qt.
      rewrite (sum_ext n _ (fun u => (p ^ (k * n) * (1 - p) * f (N.of_nat k)) * p ^ u)).
      + rewrite sum_scale, <- pow_mult, (Nat.mul_comm n k).
        rewrite <- (sum_pow n p). change (sum n (pow p)) with (sum n (fun i => p ^ i)). ring.
      + intros u lt. rewrite pow_add. unfold g.
        replace (N.of_nat (k * n + u) / t)%N with (N.of_nat k); [ring|].
        apply N.div_unique with (N.of_nat u); unfold n in *; lia. }
  assert (rows := sums_rows _ m v some_m over_x). cbn beta in rows.
  set (term := fun (u : N) (k : nat) => (1 - p ^ m) * (p ^ m) ^ k * g (u + s * N.of_nat k)%N).
  assert (dom : forall u k, 0 <= term u k <= (1 - p ^ m) * (p ^ m) ^ k).
  { intros u k. unfold term. pose proof (unit_g (u + s * N.of_nat k)%N).
    assert (0 <= (p ^ m) ^ k) by (apply pow_le; lra).
    assert (0 <= (1 - p ^ m) * (p ^ m) ^ k) by nra. split; nra. }
  set (h := fun u => real (Lim_seq (fun k => sum k (term u)))).
  assert (hh : forall u, sums (term u) (h u)).
  { intros u. apply sums_real with (2 := geometric_total (p ^ m) ltac:(lra)), dom. }
  unfold geometric.
  apply ev_bind with h; [exact unit_f| |].
  - intros u. apply ev_bind with (fun run => g (u + s * run)%N); [exact unit_f| |].
    + intros run. exact (ev_ret ((u + s * run) / t)%N f).
    + apply ev_run; [intros x; apply unit_g|]. unfold geometric_sums. rewrite e1. apply hh.
  - assert (unit_h : test h).
    { intros u. assert (Ev run_of_exp_minus_one (fun run => g (u + s * run)%N) (h u)).
      { apply ev_run; [intros x; apply unit_g|]. unfold geometric_sums. rewrite e1. apply hh. }
      eapply ev_test; [|exact H]. intros x; apply unit_g. }
    eapply ev_eq; [|apply (ev_remainder s h hs unit_h)].
    fold p m. rewrite <- sum_scale.
    eapply sums_unique; [|exact rows].
    assert (sums (fun k => sum m (fun u => (1 - p) / (1 - p ^ m) * p ^ u * term (N.of_nat u) k))
      (sum m (fun u => (1 - p) / (1 - p ^ m) * p ^ u * h (N.of_nat u)))) as finite.
    { apply (sums_sum m (fun u => (1 - p) / (1 - p ^ m) * p ^ u) (fun u => term (N.of_nat u)) (fun u => h (N.of_nat u))).
      intros i. apply hh. }
    replace (sum m (fun i => (1 - p) / (1 - p ^ m) * (p ^ i * h (N.of_nat i))))
      with (sum m (fun u => (1 - p) / (1 - p ^ m) * p ^ u * h (N.of_nat u))) by (apply sum_ext; intros; ring).
    eapply sums_ext; [|exact finite].
    intros k. apply sum_ext; intros u _. unfold term.
    rewrite pow_add, (Nat.mul_comm k m), <- pow_mult.
    replace (N.of_nat (m * k + u)) with (N.of_nat u + s * N.of_nat k)%N by (unfold m; lia).
    field. lra.
Qed.
