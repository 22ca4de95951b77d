(** Discrete Gaussian noise (discrete_gaussian.rs): P[z] = e^{−z²/2σ²} / Σ e^{−y²/2σ²}.

    [CKS20] algorithm 3 and its theorem 5: a discrete Laplace Y of scale t = ⌊σ⌋ + 1, kept with probability
    e^{−(|Y| − σ²/t)²/2σ²}. *)

From Coq Require Import Reals Lra Lia Arith NArith ZArith.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Model Uniform Bernoulli Geometric Laplace.
Open Scope R_scope.

(** e^{−x²/2σ²} for real x. *)
Definition gaussian_weight (sigma x : R) : R := exp (- (x * x / (2 * (sigma * sigma)))).

Lemma NR_mul m n : NR (m * n) = NR m * NR n.
Proof. unfold NR. now rewrite N2Nat.inj_mul, mult_INR. Qed.

Lemma NR_pos n : (0 < n)%N -> 0 < NR n.
Proof. intros pos. apply lt_0_INR. lia. Qed.

Lemma NR_IZR n : NR n = IZR (Z.of_N n).
Proof. unfold NR. rewrite INR_IZR_INZ. f_equal. lia. Qed.

Lemma gaussian_weight_pos sigma x : 0 < gaussian_weight sigma x.
Proof. apply exp_pos. Qed.

Lemma total_pos sigma total : zsums (fun z => gaussian_weight sigma (IZR z)) total -> 0 < total.
Proof.
  intros h. apply Rlt_le_trans with (gaussian_weight sigma (IZR 0)); [apply gaussian_weight_pos|].
  assert (low : sum 1 (both (fun z => gaussian_weight sigma (IZR z))) <= total).
  { apply sums_above; [|exact h]. intros n. apply both_pos. intros z. left. apply gaussian_weight_pos. }
  cbn [sum both] in low. lra.
Qed.

Section Law.
  Variables s d : N.
  Hypotheses (hs : (0 < s)%N) (hd : (0 < d)%N).
  Let sigma := NR s / NR d.
  Let t := (s / d + 1)%N.
  Let q := ratio_of t 1.
  Let keep (z : Z) : R :=
    let distance := Z.abs_N (Z.of_N (Z.abs_N z * (d * d * t)) - Z.of_N (s * s)) in
    exp (- (NR (distance * distance) / NR (s * s * (d * d * t) * t * 2))).
  Let C : R := (1 - q) / (1 + q) * exp (- (sigma * sigma / (2 * (NR t * NR t)))).

  Lemma t_pos : (0 < t)%N.
  Proof. unfold t. rewrite N.add_1_r. apply N.lt_0_succ. Qed.

  Lemma q_bounds : 0 < q < 1.
  Proof. apply ratio_bounds; [apply t_pos|lia]. Qed.

  Lemma C_pos : 0 < C.
  Proof.
    pose proof q_bounds. apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; lra|apply exp_pos].
  Qed.

  Lemma product z : laplace_mass q z * keep z = C * gaussian_weight sigma (IZR z).
  Proof.
    pose proof (NR_pos s hs) as ps; pose proof (NR_pos d hd) as pd; pose proof (NR_pos t t_pos) as pt.
    unfold laplace_mass, C, gaussian_weight, keep.
    rewrite !Rmult_assoc. f_equal.
    unfold q, ratio_of. rewrite exp_pow, <- !exp_plus. f_equal.
    rewrite !NR_mul.
    set (D := Z.abs_N (Z.of_N (Z.abs_N z * (d * d * t)) - Z.of_N (s * s))).
    assert (square : NR D * NR D
      = (Rabs (IZR z) * (NR d * NR d * NR t) - NR s * NR s) * (Rabs (IZR z) * (NR d * NR d * NR t) - NR s * NR s)).
    { unfold D. rewrite !NR_IZR, N2Z.inj_abs_N, abs_IZR, <- Rabs_mult, Rabs_pos_eq.
      - rewrite minus_IZR, !N2Z.inj_mul, N2Z.inj_abs_N, !mult_IZR, abs_IZR. reflexivity.
      - rewrite <- mult_IZR. apply IZR_le. apply Z.square_nonneg. }
    rewrite square.
    assert (size : INR (Z.abs_nat z) = Rabs (IZR z)).
    { rewrite INR_IZR_INZ, <- abs_IZR. f_equal. lia. }
    rewrite size.
    assert (same : IZR z * IZR z = Rabs (IZR z) * Rabs (IZR z)).
    { rewrite <- Rabs_mult, Rabs_pos_eq; [reflexivity|]. rewrite <- mult_IZR. apply IZR_le, Z.square_nonneg. }
    rewrite same. change (NR 1) with 1. change (NR 2) with 2. unfold sigma. field. lra.
  Qed.

  Lemma keep_test : test keep.
  Proof. intros z. apply (coin_exp_minus _ (s * s * (d * d * t) * t * 2)). pose proof t_pos. nia. Qed.

  Lemma kept_sums f v : test f ->
    zsums (fun z => gaussian_weight sigma (IZR z) * f z) v -> Ev (discrete_laplace t 1) (fun z => keep z * f z) (C * v).
  Proof.
    intros unit_f h. apply ev_laplace; [apply t_pos|lia| |].
    - intros z. pose proof (keep_test z); pose proof (unit_f z). split; nra.
    - eapply zsums_ext; [|apply zsums_scale, h]. intros z. cbn beta. fold q.
      rewrite <- Rmult_assoc, <- product. ring.
  Qed.

  Lemma weights_sum f : test f -> exists v, zsums (fun z => gaussian_weight sigma (IZR z) * f z) v /\ 0 <= v.
  Proof.
    intros unit_f. pose proof C_pos.
    destruct (zsums_dominated (fun z => laplace_mass q z * (keep z * f z)) (laplace_mass q) 1) as [u [hu [low _]]].
    - intros z. pose proof (keep_test z); pose proof (unit_f z). pose proof (laplace_mass_pos q z q_bounds).
      assert (0 <= keep z * f z <= 1) by (split; nra). split; nra.
    - apply laplace_total, q_bounds.
    - exists (/ C * u). split.
      + eapply zsums_ext; [|apply zsums_scale, hu]. intros z. cbn beta.
        rewrite <- Rmult_assoc, <- (Rmult_assoc _ (keep z)), (Rmult_assoc (/ C)), product. field. lra.
      + apply Rmult_le_pos; [|exact low]. left. now apply Rinv_0_lt_compat.
  Qed.

  (** For every test: the weighted sum over the sum of the weights. *)
  Theorem ev_gaussian f u total : test f ->
    zsums (fun z => gaussian_weight sigma (IZR z)) total ->
    zsums (fun z => gaussian_weight sigma (IZR z) * f z) u ->
    Ev (discrete_gaussian s d) f (u / total).
  Proof.
    intros unit_f htotal hu.
    pose proof C_pos as c_pos.
    assert (pos_total : 0 < total).
    { exact (total_pos sigma total htotal). }
    assert (hone : Ev (discrete_laplace t 1) (fun z => keep z * 1) (C * total)).
    { apply kept_sums; [intros z; lra|]. eapply zsums_ext; [|exact htotal]. intros z. cbn. ring. }
    assert (coins : forall z, Coin (exp_minus
      (Z.abs_N (Z.of_N (Z.abs_N z * (d * d * t)) - Z.of_N (s * s))
        * Z.abs_N (Z.of_N (Z.abs_N z * (d * d * t)) - Z.of_N (s * s)))
      (s * s * (d * d * t) * t * 2)) (keep z)).
    { intros z. apply coin_exp_minus. pose proof t_pos. nia. }
    eapply ev_eq; [|apply ev_repeat with (a := C * u) (q := 1 + -1 * (C * total)); [exact unit_f|..]].
    - field. split; lra || nra.
    - apply ev_bind with (fun z => keep z * f z); [intros [z|]; cbn; [apply unit_f|lra]| |].
      + intros z. apply ev_bind with (fun c : bool => if c then f z else 0).
        * intros [y|]; cbn; [apply unit_f|lra].
        * intros c. eapply ev_eq; [|apply ev_ret]. now destruct c.
        * eapply ev_eq; [|apply (coins z); intros c; destruct c; [apply unit_f|lra]]. cbn beta iota. ring.
      + now apply kept_sums.
    - apply ev_bind with (fun z => 1 + -1 * (keep z * 1)); [intros [z|]; cbn; lra| |].
      + intros z. apply ev_bind with (fun c : bool => if c then 0 else 1).
        * intros [y|]; cbn; lra.
        * intros c. eapply ev_eq; [|apply ev_ret]. now destruct c.
        * eapply ev_eq; [|apply (coins z); intros c; destruct c; lra]. cbn beta iota. ring.
      + apply ev_linear; [|exact hone]. apply (laplace_law t 1); [apply t_pos|lia].
    - nra.
  Qed.

  (** The law of [DiscreteGaussian] of σ = s/d: every integer has exactly its mass, and nothing is left. *)
  Theorem gaussian_law : exists total, 0 < total /\
    zsums (fun z => gaussian_weight sigma (IZR z)) total /\
    (forall z, Ev (discrete_gaussian s d) (is_z z) (gaussian_weight sigma (IZR z) / total)) /\
    stops (discrete_gaussian s d).
  Proof.
    destruct (weights_sum (fun _ => 1)) as [total [h _]]; [intros z; lra|].
    assert (htotal : zsums (fun z => gaussian_weight sigma (IZR z)) total).
    { eapply zsums_ext; [|exact h]. intros z. cbn. ring. }
    assert (pos_total : 0 < total).
    { exact (total_pos sigma total htotal). }
    exists total. repeat split; [exact pos_total|exact htotal| |].
    - intros z. apply ev_gaussian; [apply test_is_z|exact htotal|].
      apply (zsums_at (fun y => gaussian_weight sigma (IZR y)) z).
    - eapply ev_eq; [|apply ev_gaussian with (u := total) (total := total)]; [|intros z; lra|exact htotal|exact h].
      field. lra.
  Qed.
End Law.
