(** Finite sums over 0, 1, …, n − 1, and their limits. *)

From Coq Require Import Reals Lra Lia Arith NArith.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S n => sum n f + f n end.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. induction n as [|n IH]; intros same; cbn; [reflexivity|]. rewrite IH, same; auto. Qed.

Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n as [|n IH]; intros le; cbn; [lra|].
  apply Rplus_le_compat; auto.
Qed.

Lemma sum_zero n : sum n (fun _ => 0) = 0.
Proof. induction n as [|n IH]; cbn; lra. Qed.

Lemma sum_pos n f : (forall i, 0 <= f i) -> 0 <= sum n f.
Proof. intros pos. rewrite <- (sum_zero n). apply sum_le; auto. Qed.

Lemma sum_one n : sum n (fun _ => 1) = INR n.
Proof. induction n as [|n IH]; [reflexivity|]. rewrite S_INR. cbn [sum]. lra. Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n as [|n IH]; cbn; lra. Qed.

Lemma sum_scale n c f : sum n (fun i => c * f i) = c * sum n f.
Proof. induction n as [|n IH]; cbn; [lra|]. rewrite IH; lra. Qed.

Lemma sum_div n c f : sum n (fun i => f i / c) = sum n f / c.
Proof. unfold Rdiv. induction n as [|n IH]; cbn; [lra|]. rewrite IH; lra. Qed.

Lemma sum_split m n f : sum (m + n) f = sum m f + sum n (fun i => f (m + i)%nat).
Proof.
  induction n as [|n IH]; cbn; [rewrite Nat.add_0_r; lra|].
  rewrite Nat.add_succ_r. cbn. rewrite IH. lra.
Qed.

Lemma sum_first n f : sum (S n) f = f O + sum n (fun i => f (S i)).
Proof. change (S n) with (1 + n)%nat. rewrite sum_split. cbn. lra. Qed.

(** Rows one after the other. *)
Lemma sum_rows a s f : sum a (fun v => sum s (fun u => f (v * s + u)%nat)) = sum (a * s) f.
Proof.
  induction a as [|a IH]; [reflexivity|]. cbn [sum Nat.mul].
  rewrite IH, (Nat.add_comm s), sum_split. reflexivity.
Qed.

Lemma sum_swap m n f : sum m (fun i => sum n (fun j => f i j)) = sum n (fun j => sum m (fun i => f i j)).
Proof.
  induction m as [|m IH]; cbn; [now rewrite sum_zero|].
  rewrite IH, <- sum_plus. reflexivity.
Qed.

(** Only the indices below [k] count. *)
Lemma sum_below k n f : (k <= n)%nat -> sum n (fun i => if (i <? k)%nat then f i else 0) = sum k f.
Proof.
  intros le. replace n with (k + (n - k))%nat by lia. rewrite sum_split.
  rewrite (sum_ext (n - k) _ (fun _ => 0)).
  - rewrite sum_zero, Rplus_0_r. apply sum_ext; intros i lt.
    now rewrite (proj2 (Nat.ltb_lt i k) lt).
  - intros i _. now rewrite (proj2 (Nat.ltb_ge (k + i) k)) by lia.
Qed.

Lemma sum_single n k c : (k < n)%nat -> sum n (fun i => if (i =? k)%nat then c else 0) = c.
Proof.
  induction n as [|n IH]; intros lt; [lia|]. cbn.
  destruct (Nat.eq_dec n k) as [->|other].
  - rewrite Nat.eqb_refl, (sum_ext k _ (fun _ => 0)), sum_zero; [lra|].
    intros i less. now rewrite (proj2 (Nat.eqb_neq i k)) by lia.
  - rewrite IH, (proj2 (Nat.eqb_neq n k)) by lia. lra.
Qed.

Lemma sum_mono m n f : (forall i, 0 <= f i) -> (m <= n)%nat -> sum m f <= sum n f.
Proof.
  intros pos le. replace n with (m + (n - m))%nat by lia. rewrite sum_split.
  pose proof (sum_pos (n - m) (fun i => f (m + i)%nat) (fun i => pos _)). lra.
Qed.

(** The powers of [q]. *)
Lemma sum_pow n q : (1 - q) * sum n (fun i => q ^ i) = 1 - q ^ n.
Proof. induction n as [|n IH]; cbn [sum pow]; [lra|]. rewrite Rmult_plus_distr_l, IH. cbn. lra. Qed.

(** ** Limits of sums *)

(** [f] sums to [v]. *)
Definition sums (f : nat -> R) (v : R) : Prop := is_lim_seq (fun n => sum n f) v.

Lemma sums_ext f g v : (forall i, f i = g i) -> sums f v -> sums g v.
Proof. intros same. apply is_lim_seq_ext; intros n. apply sum_ext; auto. Qed.

Lemma sums_scale f c v : sums f v -> sums (fun i => c * f i) (c * v).
Proof.
  intros h. apply (is_lim_seq_ext (fun n => c * sum n f)); [intros; now rewrite sum_scale|].
  exact (is_lim_seq_scal_l _ c v h).
Qed.

Lemma sums_plus f g u v : sums f u -> sums g v -> sums (fun i => f i + g i) (u + v).
Proof.
  intros hu hv. apply (is_lim_seq_ext (fun n => sum n f + sum n g)); [intros; now rewrite sum_plus|].
  now apply is_lim_seq_plus'.
Qed.

Lemma sums_unique f u v : sums f u -> sums f v -> u = v.
Proof.
  intros hu hv. apply is_lim_seq_unique in hu. apply is_lim_seq_unique in hv.
  rewrite hu in hv. now injection hv.
Qed.

Lemma sums_above f v n : (forall i, 0 <= f i) -> sums f v -> sum n f <= v.
Proof.
  intros pos h. apply (is_lim_seq_incr_compare (fun n => sum n f)); [exact h|].
  intros m. cbn. pose proof (pos m). lra.
Qed.

(** Dominated sums converge. *)
Lemma sums_dominated f g v :
  (forall i, 0 <= f i <= g i) -> sums g v -> exists u, sums f u /\ 0 <= u <= v.
Proof.
  intros dom h.
  assert (bound : forall n, sum n f <= v).
  { intros n. eapply Rle_trans; [|apply (sums_above g v n); [|exact h]].
    - apply sum_le; intros; apply dom.
    - intros i. pose proof (dom i). lra. }
  destruct (ex_finite_lim_seq_incr (fun n => sum n f) v) as [u hu].
  - intros n. cbn. pose proof (dom n). lra.
  - exact bound.
  - exists u; split; [exact hu|split].
    + apply (is_lim_seq_le (fun _ => 0) (fun n => sum n f) 0 u); [|apply is_lim_seq_const|exact hu].
      intros n. apply sum_pos. intros; apply dom.
    + apply (is_lim_seq_le (fun n => sum n f) (fun _ => v) u v bound hu). apply is_lim_seq_const.
Qed.

(** Terms that are not negative may be added in rows of any length. *)
Lemma sums_rows f s v :
  (0 < s)%nat -> sums f v -> sums (fun k => sum s (fun u => f (k * s + u)%nat)) v.
Proof.
  intros pos h.
  apply (is_lim_seq_ext (fun n => sum (n * s) f)); [intros; now rewrite sum_rows|].
  apply (is_lim_seq_subseq (fun n => sum n f) v (fun n => (n * s)%nat)); [|exact h].
  apply eventually_subseq. intros n. nia.
Qed.

Lemma sums_rows_inv f s v :
  (0 < s)%nat -> (forall i, 0 <= f i) -> sums (fun k => sum s (fun u => f (k * s + u)%nat)) v -> sums f v.
Proof.
  intros some pos h.
  assert (bound : forall n, sum n f <= v).
  { intros n. apply Rle_trans with (sum (n * s) f); [apply sum_mono; [exact pos|nia]|].
    rewrite <- sum_rows. apply (sums_above _ v n); [|exact h].
    intros i. apply sum_pos; auto. }
  destruct (ex_finite_lim_seq_incr (fun n => sum n f) v) as [u hu].
  - intros n. cbn. pose proof (pos n). lra.
  - exact bound.
  - pose proof (sums_rows f s u some hu) as again.
    now rewrite (sums_unique _ _ _ h again).
Qed.

Lemma sums_pow q : 0 <= q < 1 -> sums (fun i => q ^ i) (/ (1 - q)).
Proof.
  intros hq. apply (is_lim_seq_ext (fun n => / (1 - q) * (1 - q ^ n))).
  - intros n. rewrite <- sum_pow. field. lra.
  - replace (/ (1 - q)) with (/ (1 - q) * (1 - 0)) at 1 by lra.
    apply (is_lim_seq_scal_l _ _ (1 - 0)).
    apply is_lim_seq_minus'; [apply is_lim_seq_const|].
    apply is_lim_seq_geom. rewrite Rabs_pos_eq; lra.
Qed.

(** The series of e^x. *)
Lemma sums_exp x : sums (fun i => x ^ i / INR (Factorial.fact i)) (exp x).
Proof.
  assert (h := is_exp_Reals x). unfold is_pseries, is_series in h.
  unfold sums. apply is_lim_seq_incr_1.
  apply (is_lim_seq_ext (sum_n (fun k => scal (pow_n (K := R_AbsRing) x k) (/ INR (Factorial.fact k))))).
  - intros n. induction n as [|n IH].
    + rewrite sum_O. cbn. unfold scal; cbn. unfold mult; cbn. unfold one; cbn. field.
    + rewrite sum_Sn, IH. cbn [sum]. unfold plus; cbn -[Factorial.fact].
      unfold scal; cbn -[Factorial.fact]. unfold mult; cbn -[Factorial.fact].
      unfold Rdiv. rewrite ?pow_n_pow. cbn -[Factorial.fact]. do 3 f_equal.
  - exact h.
Qed.

Lemma terms_vanish f v : sums f v -> is_lim_seq f 0.
Proof.
  intros h. apply (is_lim_seq_ext (fun n => sum (S n) f - sum n f)); [intros; cbn; lra|].
  replace (Finite 0) with (Finite (v - v)) by (f_equal; lra).
  apply is_lim_seq_minus'; [|exact h]. now apply -> is_lim_seq_incr_1 in h.
Qed.
