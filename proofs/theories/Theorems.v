(** The results in one place, as a reader would state them. [Assumptions.v] prints what they stand on.

    [Ev t f v]: the average of [f] over what the sampler [t] returns is [v]; by [meaning] that is a limit of counts of
    bit strings. [stops t]: with probability 1 it returns. *)

From Coq Require Import Reals Lra Lia List Arith NArith ZArith.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Model Uniform Bernoulli Geometric Laplace Gaussian Lists Adequacy Outcomes Privacy
  Mechanisms Theta Renyi.
Open Scope R_scope.

Definition is_n (n m : N) : R := if (m =? n)%N then 1 else 0.
Definition is_true (b : bool) : R := if b then 1 else 0.

Lemma test_is_n n : test (is_n n).
Proof. intros m. unfold is_n. destruct (m =? n)%N; lra. Qed.

(** ** What the words mean *)

Theorem meaning {A} (t : tree A) f v :
  Ev t f v <-> is_lim_seq (fun k => lsum (fun w => outcome f (run k t w)) (words k) / 2 ^ k) v.
Proof. apply ev_counts. Qed.

(** After [k] bits and steps the mass of what has been returned is [wp k t (fun _ => 1)]; what is left goes to 0. *)
Theorem mass_left {A} (t : tree A) : stops t <-> is_lim_seq (fun k => 1 - wp k t (fun _ => 1)) 0.
Proof.
  split; intros h.
  - replace (Finite 0) with (Finite (1 - 1)) by (f_equal; lra).
    apply is_lim_seq_minus'; [apply is_lim_seq_const|exact h].
  - unfold stops, Ev.
    apply (is_lim_seq_ext (fun k => 1 - (1 - wp k t (fun _ => 1)))); [intros; ring|].
    replace (Finite 1) with (Finite (1 - 0)) by (f_equal; lra).
    apply is_lim_seq_minus'; [apply is_lim_seq_const|exact h].
Qed.

(** What was returned after [k] steps never exceeds the law, and lacks at most the mass that is left. *)
Theorem within_mass_left {A} (t : tree A) f v k :
  test f -> stops t -> Ev t f v -> wp k t f <= v <= wp k t f + (1 - wp k t (fun _ => 1)).
Proof.
  intros unit_f total hv. split; [apply ev_above; [apply unit_f|exact hv]|].
  assert (rest : Ev t (fun a => 1 + -1 * f a) (1 + -1 * v)) by now apply ev_linear.
  pose proof (ev_above t _ _ k (fun a => ltac:(pose proof (unit_f a); lra) : 0 <= 1 + -1 * f a) rest) as h.
  rewrite wp_linear in h. lra.
Qed.

(** ** Laws *)

Lemma mean_at n i : (i < n)%N -> mean (N.to_nat n) (is_n i) = 1 / NR n.
Proof.
  intros less. unfold mean, NR. f_equal.
  rewrite <- (sum_single (N.to_nat n) (N.to_nat i) 1) by lia. apply sum_ext; intros j _. unfold is_n.
  destruct (Nat.eqb_spec j (N.to_nat i)), (N.eqb_spec (N.of_nat j) i); try lia; reflexivity.
Qed.

Lemma mean_one n : (0 < n)%N -> mean (N.to_nat n) (fun _ => 1) = 1.
Proof.
  intros pos. unfold mean. rewrite sum_one. apply Rinv_r. apply not_0_INR. lia.
Qed.

Theorem uniform_u64 n : (0 < n)%N ->
  (forall i, (i < n)%N -> Ev (below_u64 n) (is_n i) (1 / NR n)) /\ stops (below_u64 n).
Proof.
  intros pos. split.
  - intros i less. rewrite <- (mean_at n i less). apply ev_below_u64; [exact pos|apply test_is_n].
  - eapply ev_eq; [apply (mean_one n pos)|]. apply ev_below_u64; [exact pos|intros x; lra].
Qed.

Theorem uniform_big n : (0 < n)%N ->
  (forall i, (i < n)%N -> Ev (below_big n) (is_n i) (1 / NR n)) /\ stops (below_big n).
Proof.
  intros pos. split.
  - intros i less. rewrite <- (mean_at n i less). apply ev_below_big; [exact pos|apply test_is_n].
  - eapply ev_eq; [apply (mean_one n pos)|]. apply ev_below_big; [exact pos|intros x; lra].
Qed.

Lemma coin_law t p : Coin t p -> Ev t is_true p /\ stops t.
Proof.
  intros [_ h]. split.
  - eapply ev_eq; [|apply h; intros b; unfold is_true; destruct b; lra]. cbn. lra.
  - eapply ev_eq; [|apply h; intros b; lra]. cbn. lra.
Qed.

Theorem bernoulli_rational n d : (0 < d)%N -> (n <= d)%N ->
  Ev (is_below n d) is_true (NR n / NR d) /\ stops (is_below n d).
Proof. intros pos le. now apply coin_law, coin_is_below. Qed.

Theorem bernoulli_exp_minus n d : (0 < d)%N ->
  Ev (exp_minus n d) is_true (exp (- (NR n / NR d))) /\ stops (exp_minus n d).
Proof. intros pos. now apply coin_law, coin_exp_minus. Qed.

Theorem bernoulli_logistic n d : (0 < d)%N ->
  Ev (logistic n d) is_true (1 / (1 + exp (- (NR n / NR d)))) /\ stops (logistic n d).
Proof. intros pos. now apply coin_law, coin_logistic. Qed.

(** Scale s/t. *)
Theorem geometric_noise s t : (0 < s)%N -> (0 < t)%N ->
  let q := exp (- (NR t / NR s)) in
  (forall n, Ev (geometric s t) (is_n n) ((1 - q) * q ^ N.to_nat n)) /\ stops (geometric s t).
Proof. intros hs ht. now apply geometric_law. Qed.

Theorem laplace_noise s t : (0 < s)%N -> (0 < t)%N ->
  let q := exp (- (NR t / NR s)) in
  (forall z, Ev (discrete_laplace s t) (is_z z) ((1 - q) / (1 + q) * q ^ Z.abs_nat z)) /\ stops (discrete_laplace s t).
Proof. intros hs ht. now apply laplace_law. Qed.

(** σ = s/d. *)
Theorem gaussian_noise s d : (0 < s)%N -> (0 < d)%N ->
  let sigma := NR s / NR d in
  let weight z := exp (- (IZR z * IZR z / (2 * (sigma * sigma)))) in
  exists total, 0 < total /\ zsums weight total /\
    (forall z, Ev (discrete_gaussian s d) (is_z z) (weight z / total)) /\ stops (discrete_gaussian s d).
Proof. intros hs hd. now apply gaussian_law. Qed.

(** ** Privacy *)

(** Count queries with noise: neighbours are at most [reach] apart. *)
Theorem laplace_is_private s t x x' (reach : nat) :
  (0 < s)%N -> (0 < t)%N -> (Z.abs (x - x') <= Z.of_nat reach)%Z ->
  indist (INR reach / (NR s / NR t)) 0 (laplace_mechanism s t x) (laplace_mechanism s t x').
Proof.
  intros hs ht near. replace (INR reach / (NR s / NR t)) with (INR reach * (NR t / NR s)).
  - now apply laplace_private.
  - assert (0 < NR s) by now apply NR_pos. assert (0 < NR t) by now apply NR_pos. field. lra.
Qed.

Theorem gaussian_is_zcdp s d x x' (reach : nat) :
  (0 < s)%N -> (0 < d)%N -> (Z.abs (x - x') <= Z.of_nat reach)%Z ->
  zcdp Z.eq_dec (INR reach * INR reach / (2 * (NR s / NR d * (NR s / NR d))))
    (gaussian_mechanism s d x) (gaussian_mechanism s d x').
Proof. intros hs hd near. now apply gaussian_zcdp. Qed.
