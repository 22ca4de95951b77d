(** Uniform integers below a bound, by rejection (uniform.rs). *)

From Coq Require Import Reals Lra Lia Arith NArith ZArith.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Model.
Open Scope R_scope.

Definition NR (n : N) : R := INR (N.to_nat n).

(** The average of [f] over 0, …, n − 1. *)
Definition mean (n : nat) (f : N -> R) : R := sum n (fun i => f (N.of_nat i)) / INR n.

Lemma INR_pow2 k : INR (2 ^ k) = 2 ^ k.
Proof. rewrite pow_INR. reflexivity. Qed.

Lemma pow2_pos k : 0 < 2 ^ k.
Proof. apply pow_lt; lra. Qed.

Lemma test_mean n (f : N -> R) : (0 < n)%nat -> test f -> 0 <= mean n f <= 1.
Proof.
  intros pos unit_f. unfold mean. assert (0 < INR n) by now apply lt_0_INR.
  assert (0 <= sum n (fun i => f (N.of_nat i)) <= INR n).
  { rewrite <- sum_one. split; [apply sum_pos; intros; apply unit_f|apply sum_le; intros; apply unit_f]. }
  split; [apply Rdiv_le_0_compat; lra|].
  apply (Rmult_le_reg_r (INR n)); [lra|]. field_simplify; lra.
Qed.

Lemma ev_read k : forall acc f,
  Ev (read k acc) f (sum (2 ^ k) (fun i => f (acc * 2 ^ N.of_nat k + N.of_nat i)%N) / 2 ^ k).
Proof.
  induction k as [|k IH]; intros acc f.
  - eapply ev_eq; [|apply ev_ret]. cbn. replace (acc * 1 + 0)%N with acc by lia. field.
  - eapply ev_eq; [|apply ev_flip; apply IH].
    replace (2 ^ S k)%nat with (2 ^ k + 2 ^ k)%nat by (cbn; lia).
    rewrite sum_split.
    assert (power : (2 ^ N.of_nat (S k) = 2 * 2 ^ N.of_nat k)%N) by (rewrite Nat2N.inj_succ, N.pow_succ_r'; lia).
    assert (nat_power : N.of_nat (2 ^ k) = (2 ^ N.of_nat k)%N) by (rewrite Nat2N.inj_pow; reflexivity).
    rewrite (sum_ext _ (fun i => f (acc * 2 ^ N.of_nat (S k) + N.of_nat i)%N)
      (fun i => f ((2 * acc + 0) * 2 ^ N.of_nat k + N.of_nat i)%N)) by (intros; f_equal; lia).
    rewrite (sum_ext _ (fun i => f (acc * 2 ^ N.of_nat (S k) + N.of_nat (2 ^ k + i))%N)
      (fun i => f ((2 * acc + 1) * 2 ^ N.of_nat k + N.of_nat i)%N)) by (intros; f_equal; lia).
    cbn [pow]. pose proof (pow2_pos k). field. lra.
Qed.

(** A way of drawing that many bits that gives every number alike. *)
Definition fair (draw : nat -> tree N) : Prop := forall k f, test f -> Ev (draw k) f (mean (2 ^ k) f).

Lemma fair_read k f : Ev (read k 0) f (mean (2 ^ k) f).
Proof. eapply ev_eq; [|apply ev_read]. unfold mean. now rewrite INR_pow2. Qed.

Lemma fair_word : fair word_bits.
Proof. intros k f _. apply fair_read. Qed.

Lemma fair_digits w full rest f : test f -> Ev (read_digits w full rest) f (mean (2 ^ (full * w + rest)) f).
Proof.
  revert f. induction full as [|full IH]; intros f unit_f; [apply fair_read|].
  cbn [read_digits].
  set (g := fun digit => mean (2 ^ (full * w + rest)) (fun above => f (digit + 2 ^ N.of_nat w * above)%N)).
  apply ev_bind with g; [exact unit_f| |].
  - intros digit.
    apply ev_bind with (fun above => f (digit + 2 ^ N.of_nat w * above)%N); [exact unit_f| |].
    + intros above. apply ev_ret.
    + apply IH. intros above. apply unit_f.
  - eapply ev_eq; [|apply fair_read].
    unfold g, mean. rewrite sum_div.
    replace (2 ^ (S full * w + rest))%nat with (2 ^ (full * w + rest) * 2 ^ w)%nat
      by (rewrite <- Nat.pow_add_r; f_equal; cbn; lia).
    rewrite <- (sum_rows (2 ^ (full * w + rest)) (2 ^ w)), sum_swap, mult_INR, !INR_pow2.
    pose proof (pow2_pos w); pose proof (pow2_pos (full * w + rest)).
    rewrite (sum_ext _ _ (fun v => sum (2 ^ w) (fun u => f (N.of_nat (v * 2 ^ w + u))))); [field; lra|].
    intros v _. apply sum_ext; intros u _. f_equal.
    rewrite Nat2N.inj_add, Nat2N.inj_mul, Nat2N.inj_pow. change (N.of_nat 2) with 2%N. lia.
Qed.

Lemma fair_big : fair big_bits.
Proof.
  intros k f unit_f. unfold big_bits.
  rewrite (Nat.div_mod_eq k 32) at 3. rewrite (Nat.mul_comm 32). now apply fair_digits.
Qed.

Lemma size_enough n : (0 < n)%N -> (N.to_nat n <= 2 ^ N.size_nat (n - 1))%nat.
Proof.
  intros pos.
  assert (size : N.of_nat (N.size_nat (n - 1)) = N.size (n - 1)).
  { destruct (n - 1)%N as [|p]; [reflexivity|]. cbn [N.size_nat N.size].
    induction p as [p IH|p IH|]; cbn [Pos.size_nat Pos.size]; [rewrite Nat2N.inj_succ, IH; reflexivity..|reflexivity]. }
  pose proof (N.size_gt (n - 1)) as gt. rewrite <- size in gt.
  assert (N.of_nat (2 ^ N.size_nat (n - 1)) = 2 ^ N.of_nat (N.size_nat (n - 1)))%N by
    (rewrite Nat2N.inj_pow; reflexivity).
  lia.
Qed.

(** Uniform below any bound above zero, however the bits are drawn. *)
Theorem ev_below draw n f : fair draw -> (0 < n)%N -> test f -> Ev (below draw n) f (mean (N.to_nat n) f).
Proof.
  intros hfair pos unit_f. unfold below.
  destruct (n =? 0)%N eqn:zero; [apply N.eqb_eq in zero; lia|]. clear zero.
  set (k := N.size_nat (n - 1)). assert (enough := size_enough n pos). fold k in enough.
  set (m := N.to_nat n) in *.
  assert (m_pos : 0 < INR m) by (apply lt_0_INR; unfold m; lia).
  assert (two : 0 < 2 ^ k) by apply pow2_pos.
  assert (small : INR m <= 2 ^ k) by (rewrite <- INR_pow2; now apply le_INR).
  eapply ev_eq; [|apply ev_repeat with (a := sum m (fun i => f (N.of_nat i)) / 2 ^ k) (q := 1 - INR m / 2 ^ k)].
  - unfold mean. field. lra.
  - exact unit_f.
  - apply ev_bind with (fun x => if (x <? n)%N then f x else 0).
    + intros [x|]; cbn; [apply unit_f|lra].
    + intros x. eapply ev_eq; [|apply ev_ret]. destruct (x <? n)%N; reflexivity.
    + eapply ev_eq; [|apply hfair].
      * unfold mean. rewrite INR_pow2. f_equal.
        rewrite <- (sum_below m (2 ^ k)) by exact enough.
        apply sum_ext; intros i _.
        replace (N.of_nat i <? n)%N with (i <? m)%nat; [reflexivity|].
        destruct (Nat.ltb_spec i m), (N.ltb_spec (N.of_nat i) n); auto; unfold m in *; lia.
      * intros x. destruct (x <? n)%N; [apply unit_f|lra].
  - apply ev_bind with (fun x => if (x <? n)%N then 0 else 1).
    + intros [x|]; cbn; lra.
    + intros x. eapply ev_eq; [|apply ev_ret]. destruct (x <? n)%N; reflexivity.
    + eapply ev_eq; [|apply hfair].
      * unfold mean. rewrite INR_pow2.
        rewrite (sum_ext _ _ (fun i => 1 + (-1) * (if (i <? m)%nat then 1 else 0))).
        -- rewrite sum_plus, sum_scale, sum_below, !sum_one, INR_pow2 by exact enough. field. lra.
        -- intros i _. replace (N.of_nat i <? n)%N with (i <? m)%nat; [destruct (i <? m)%nat; lra|].
           destruct (Nat.ltb_spec i m), (N.ltb_spec (N.of_nat i) n); auto; unfold m in *; lia.
      * intros x. destruct (x <? n)%N; lra.
  - assert (0 < INR m / 2 ^ k) by (apply Rdiv_lt_0_compat; lra). lra.
Qed.

(** A coin of bias [p]: everything that can be said of what it gives. *)
Definition Coin (t : tree bool) (p : R) : Prop :=
  0 <= p <= 1 /\ forall f, test f -> Ev t f (p * f true + (1 - p) * f false).

Theorem ev_below_u64 n f : (0 < n)%N -> test f -> Ev (below_u64 n) f (mean (N.to_nat n) f).
Proof. apply ev_below, fair_word. Qed.

Theorem ev_below_big n f : (0 < n)%N -> test f -> Ev (below_big n) f (mean (N.to_nat n) f).
Proof. apply ev_below, fair_big. Qed.

(** How often a uniform number is below another. *)
Lemma mean_below (n k : N) (a b : R) :
  (0 < n)%N -> (k <= n)%N -> mean (N.to_nat n) (fun x => if (x <? k)%N then a else b)
    = NR k / NR n * a + (1 - NR k / NR n) * b.
Proof.
  intros pos le. unfold mean, NR.
  assert (0 < INR (N.to_nat n)) by (apply lt_0_INR; lia).
  rewrite (sum_ext _ _ (fun i => b * 1 + (a - b) * (if (i <? N.to_nat k)%nat then 1 else 0))).
  - rewrite sum_plus, !sum_scale, sum_below, !sum_one by lia. field. lra.
  - intros i _.
    destruct (Nat.ltb_spec i (N.to_nat k)), (N.ltb_spec (N.of_nat i) k); try lia; lra.
Qed.

Lemma ratio_unit n k : (0 < n)%N -> (k <= n)%N -> 0 <= NR k / NR n <= 1.
Proof.
  intros pos le. unfold NR.
  assert (0 < INR (N.to_nat n)) by (apply lt_0_INR; lia).
  assert (INR (N.to_nat k) <= INR (N.to_nat n)) by (apply le_INR; lia).
  pose proof (pos_INR (N.to_nat k)).
  split; [apply Rdiv_le_0_compat; lra|].
  apply (Rmult_le_reg_r (INR (N.to_nat n))); [lra|]. field_simplify; lra.
Qed.

(** [bernoulli::rational]: a coin of bias numerator/denominator. *)
Theorem coin_is_below n d : (0 < d)%N -> (n <= d)%N -> Coin (is_below n d) (NR n / NR d).
Proof.
  intros pos le. split; [now apply ratio_unit|]. intros f unit_f.
  unfold is_below.
  apply ev_bind with (fun x => if (x <? n)%N then f true else f false); [exact unit_f| |].
  - intros x. eapply ev_eq; [|apply ev_ret]. destruct (x <? n)%N; reflexivity.
  - rewrite <- mean_below by assumption.
    assert (test (fun x => if (x <? n)%N then f true else f false)) by
      (intros x; destruct (x <? n)%N; apply unit_f).
    destruct (fits_u64 n && fits_u64 d)%bool; [now apply ev_below_u64|now apply ev_below_big].
Qed.
