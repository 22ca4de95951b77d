(** Discrete Laplace noise (discrete_laplace.rs): P[z] = (1 − q)/(1 + q) q^|z| with q = e^−1/scale.

    [CKS20] algorithm 2 and its theorem: a geometric magnitude and a sign, again if it is the second zero. *)

From Coq Require Import Reals Lra Lia Arith NArith ZArith.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Model Uniform Bernoulli Geometric.
Open Scope R_scope.

(** Sums over all integers: 0 first, then n and −n together. *)
Definition both (f : Z -> R) (n : nat) : R :=
  match n with O => f 0%Z | S _ => f (Z.of_nat n) + f (- Z.of_nat n)%Z end.

Definition zsums (f : Z -> R) (v : R) : Prop := sums (both f) v.

Lemma both_ext f g n : (forall z, f z = g z) -> both f n = both g n.
Proof. intros same. destruct n; cbn; rewrite ?same; reflexivity. Qed.

Lemma both_scale c f n : both (fun z => c * f z) n = c * both f n.
Proof. destruct n; cbn; ring. Qed.

Lemma both_le f g n : (forall z, f z <= g z) -> both f n <= both g n.
Proof. intros le. destruct n; cbn; [apply le|]. apply Rplus_le_compat; apply le. Qed.

Lemma both_zero n : both (fun _ => 0) n = 0.
Proof. destruct n; cbn; ring. Qed.

Lemma both_pos f n : (forall z, 0 <= f z) -> 0 <= both f n.
Proof. intros pos. rewrite <- (both_zero n). now apply both_le. Qed.

Lemma zsums_ext f g v : (forall z, f z = g z) -> zsums f v -> zsums g v.
Proof. intros same. apply sums_ext; intros n. now apply both_ext. Qed.

Lemma zsums_scale f c v : zsums f v -> zsums (fun z => c * f z) (c * v).
Proof. intros h. apply (sums_ext (fun n => c * both f n)); [intros; now rewrite both_scale|]. now apply sums_scale. Qed.

Lemma zsums_unique f u v : zsums f u -> zsums f v -> u = v.
Proof. apply sums_unique. Qed.

Lemma zsums_dominated f g v : (forall z, 0 <= f z <= g z) -> zsums g v -> exists u, zsums f u /\ 0 <= u <= v.
Proof.
  intros dom. apply sums_dominated. intros n.
  split; [apply both_pos|apply both_le]; intros z; apply dom.
Qed.

Lemma sums_single k c : sums (fun i => if (i =? k)%nat then c else 0) c.
Proof.
  apply (is_lim_seq_ext_loc (fun _ => c)); [|apply is_lim_seq_const].
  exists (S k). intros n le. now rewrite sum_single by lia.
Qed.

Definition is_z (z y : Z) : R := if (y =? z)%Z then 1 else 0.

Lemma test_is_z z : test (is_z z).
Proof. intros y. unfold is_z. destruct (y =? z)%Z; lra. Qed.

Lemma zsums_at f z : zsums (fun y => f y * is_z z y) (f z).
Proof.
  eapply sums_ext; [|apply (sums_single (Z.abs_nat z) (f z))].
  intros n. cbn beta. unfold both, is_z.
  destruct n as [|n].
  - destruct (Nat.eqb_spec 0 (Z.abs_nat z)), (Z.eqb_spec 0 z); try lia; subst; ring.
  - destruct (Nat.eqb_spec (S n) (Z.abs_nat z)), (Z.eqb_spec (Z.of_nat (S n)) z),
      (Z.eqb_spec (- Z.of_nat (S n)) z); try lia; subst; try ring.
Qed.

Definition laplace_mass (q : R) (z : Z) : R := (1 - q) / (1 + q) * q ^ Z.abs_nat z.

Lemma laplace_mass_pos q z : 0 < q < 1 -> 0 < laplace_mass q z.
Proof.
  intros hq. unfold laplace_mass. apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; lra|]. apply pow_lt; lra.
Qed.

Lemma laplace_both q f n :
  both (fun z => laplace_mass q z * f z) n
    = (1 - q) / (1 + q) * q ^ n * both f n.
Proof.
  unfold laplace_mass. destruct n as [|n]; [cbn; ring|]. unfold both.
  replace (Z.abs_nat (Z.of_nat (S n))) with (S n) by lia.
  replace (Z.abs_nat (- Z.of_nat (S n))) with (S n) by lia. ring.
Qed.

Lemma laplace_total q : 0 < q < 1 -> zsums (laplace_mass q) 1.
Proof.
  intros hq.
  assert (h : sums (fun n => 2 / (1 + q) * ((1 - q) * q ^ n) + (-1) * (if (n =? 0)%nat then (1 - q) / (1 + q) else 0))
    (2 / (1 + q) * 1 + (-1) * ((1 - q) / (1 + q)))).
  { apply sums_plus; apply sums_scale; [apply geometric_total; lra|apply sums_single]. }
  replace (2 / (1 + q) * 1 + -1 * ((1 - q) / (1 + q))) with 1 in h by (field; lra).
  eapply sums_ext; [|exact h]. intros n. cbn beta.
  transitivity (both (fun z => laplace_mass q z * 1) n); [|apply both_ext; intros; ring].
  rewrite laplace_both. destruct n as [|n]; [cbn; field; lra|].
  cbn [Nat.eqb both]. field. lra.
Qed.

(** For every test. *)
Theorem ev_laplace s t f v : (0 < s)%N -> (0 < t)%N -> test f ->
  zsums (fun z => laplace_mass (ratio_of s t) z * f z) v -> Ev (discrete_laplace s t) f v.
Proof.
  intros hs ht unit_f hv. assert (hq := ratio_bounds s t hs ht). set (q := ratio_of s t) in *.
  set (neg := fun n : N => if (n =? 0)%N then 0 else f (- Z.of_N n)%Z).
  set (pos := fun n : N => f (Z.of_N n)).
  assert (unit_neg : test neg) by (intros n; unfold neg; destruct (n =? 0)%N; [lra|apply unit_f]).
  assert (unit_pos : test pos) by (intros n; apply unit_f).
  destruct (sums_dominated _ _ 1 (geometric_dominated q neg ltac:(lra) unit_neg) (geometric_total q ltac:(lra)))
    as [u [hu _]].
  destruct (sums_dominated _ _ 1 (geometric_dominated q pos ltac:(lra) unit_pos) (geometric_total q ltac:(lra)))
    as [w [hw _]].
  assert (value : v = (u + w) / (1 + q)).
  { eapply zsums_unique; [exact hv|].
    replace ((u + w) / (1 + q)) with (/ (1 + q) * (u + w)) by (field; lra).
    eapply sums_ext; [|apply sums_scale, sums_plus; [exact hu|exact hw]].
    intros n. cbn beta. rewrite laplace_both. unfold neg, pos, both.
    destruct n as [|n]; [cbn; field; lra|].
    replace (N.of_nat (S n) =? 0)%N with false by (symmetry; apply N.eqb_neq; lia).
    rewrite nat_N_Z. field. lra. }
  rewrite value.
  eapply ev_eq; [|apply ev_repeat with (a := (u + w) / 2) (q := ((1 - q) + 0) / 2); [exact unit_f|..]].
  - field. lra.
  - apply ev_flip.
    + apply ev_bind with neg; [intros [z|]; cbn; [apply unit_f|lra]| |].
      * intros n. eapply ev_eq; [|apply ev_ret]. unfold neg. now destruct (n =? 0)%N.
      * now apply ev_geometric.
    + apply ev_bind with pos; [intros [z|]; cbn; [apply unit_f|lra]| |].
      * intros n. eapply ev_eq; [|apply ev_ret]. reflexivity.
      * now apply ev_geometric.
  - apply ev_flip.
    + apply ev_bind with (fun n => if (n =? 0)%N then 1 else 0); [intros [z|]; cbn; lra| |].
      * intros n. eapply ev_eq; [|apply ev_ret]. now destruct (n =? 0)%N.
      * apply ev_geometric; [assumption..|intros n; destruct (n =? 0)%N; lra|].
        unfold geometric_sums. fold q.
        eapply sums_ext; [|apply (sums_single 0 (1 - q))]. intros n. cbn beta.
        destruct n as [|n]; [cbn; ring|].
        replace (N.of_nat (S n) =? 0)%N with false by (symmetry; apply N.eqb_neq; lia). cbn [Nat.eqb]. ring.
    + apply ev_bind with (fun _ => 0); [intros [z|]; cbn; lra| |apply ev_zero].
      intros n. eapply ev_eq; [|apply ev_ret]. reflexivity.
  - lra.
Qed.

(** The law of [DiscreteLaplace] of scale s/t: every integer has exactly its mass, and nothing is left. *)
Theorem laplace_law s t : (0 < s)%N -> (0 < t)%N ->
  (forall z, Ev (discrete_laplace s t) (is_z z) (laplace_mass (ratio_of s t) z)) /\ stops (discrete_laplace s t).
Proof.
  intros hs ht. split.
  - intros z. apply ev_laplace; [assumption..|apply test_is_z|]. apply zsums_at.
  - apply ev_laplace; [assumption..|intros z; lra|].
    eapply zsums_ext; [|apply laplace_total, (ratio_bounds s t hs ht)]. intros z. cbn. ring.
Qed.

(** The same for [Geometric]. *)
Theorem geometric_law s t : (0 < s)%N -> (0 < t)%N ->
  (forall n, Ev (geometric s t) (fun m => if (m =? n)%N then 1 else 0)
    ((1 - ratio_of s t) * ratio_of s t ^ N.to_nat n)) /\ stops (geometric s t).
Proof.
  intros hs ht. split.
  - intros n. apply ev_geometric; [assumption..|intros m; destruct (m =? n)%N; lra|].
    eapply sums_ext; [|apply (sums_single (N.to_nat n) ((1 - ratio_of s t) * ratio_of s t ^ N.to_nat n))].
    intros i. cbn beta. destruct (Nat.eqb_spec i (N.to_nat n)), (N.eqb_spec (N.of_nat i) n); try lia; subst; ring.
  - apply ev_geometric; [assumption..|intros m; lra|].
    eapply sums_ext; [|apply (geometric_total (ratio_of s t)); pose proof (ratio_bounds s t hs ht); lra].
    intros i. cbn. ring.
Qed.
