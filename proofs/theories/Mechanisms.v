(** Randomized response, the exponential mechanism, and the stable histogram's δ. *)

From Coq Require Import Reals Lra Lia List Arith NArith ZArith.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Model Uniform Bernoulli Geometric Laplace Lists Outcomes Privacy.
Import ListNotations.
Open Scope R_scope.

(** ** Choices in proportion to weights *)

(** [t] gives [i < n] with probability w_i / Σ w. *)
Definition chooses (t : tree N) (n : nat) (w : N -> R) : Prop :=
  forall f, test f ->
    Ev t f (sum n (fun i => w (N.of_nat i) * f (N.of_nat i)) / sum n (fun i => w (N.of_nat i))).

(** Weights at most a factor apart, and so are their sums. *)
Theorem chooses_private t u n w w' a b :
  (0 < n)%nat -> (forall i, 0 < w i) -> (forall i, 0 < w' i) ->
  chooses t n w -> chooses u n w' ->
  (forall i, w i <= exp a * w' i) ->
  sum n (fun i => w' (N.of_nat i)) <= exp b * sum n (fun i => w (N.of_nat i)) ->
  indist (a + b) 0 t u.
Proof.
  intros some pos pos' ht hu near total f unit_f v v' hv hv'.
  rewrite (ev_unique _ _ _ _ hv (ht f unit_f)), (ev_unique _ _ _ _ hv' (hu f unit_f)), Rplus_0_r.
  set (W := sum n (fun i => w (N.of_nat i))) in *. set (W' := sum n (fun i => w' (N.of_nat i))) in *.
  set (F := sum n (fun i => w (N.of_nat i) * f (N.of_nat i))).
  set (F' := sum n (fun i => w' (N.of_nat i) * f (N.of_nat i))).
  assert (hW : 0 < W).
  { apply Rlt_le_trans with (sum 1 (fun i => w (N.of_nat i))); [cbn; pose proof (pos 0%N); lra|].
    apply sum_mono; [intros i; left; apply pos|lia]. }
  assert (hW' : 0 < W').
  { apply Rlt_le_trans with (sum 1 (fun i => w' (N.of_nat i))); [cbn; pose proof (pos' 0%N); lra|].
    apply sum_mono; [intros i; left; apply pos'|lia]. }
  assert (hF : F <= exp a * F').
  { unfold F, F'. rewrite <- sum_scale. apply sum_le; intros i _.
    pose proof (near (N.of_nat i)); pose proof (unit_f (N.of_nat i)). nra. }
  assert (hF' : 0 <= F').
  { apply sum_pos; intros i. pose proof (pos' (N.of_nat i)); pose proof (unit_f (N.of_nat i)). nra. }
  rewrite exp_plus.
  apply (Rmult_le_reg_r (W * W')); [nra|].
  replace (F / W * (W * W')) with (F * W') by (field; lra).
  replace (exp a * exp b * (F' / W') * (W * W')) with ((exp a * F') * (exp b * W)) by (field; lra).
  pose proof (exp_pos a).
  apply Rle_trans with (exp a * F' * W'); [apply Rmult_le_compat_r; lra|].
  apply Rmult_le_compat_l; [nra|exact total].
Qed.

(** Randomized response (Warner 1965; [DR14] section 3.2), on the sampler itself: ε = n/d, whatever the two truths. *)
Theorem randomized_response_private k n d truth truth' :
  (0 < d)%N -> (truth < k)%N -> (truth' < k)%N ->
  indist (NR n / NR d) 0 (randomized_response k n d truth) (randomized_response k n d truth').
Proof.
  intros pos less less'. set (e := NR n / NR d).
  assert (e_pos : 0 <= e).
  { unfold e. apply Rdiv_le_0_compat; [apply pos_INR|]. apply lt_0_INR. lia. }
  assert (small : exp (- e) <= 1).
  { rewrite <- exp_0. destruct (Req_dec e 0) as [->|other]; [rewrite Ropp_0; lra|].
    left. apply exp_increasing. lra. }
  assert (weight_pos : forall x i, 0 < response_weight e x i).
  { intros x i. unfold response_weight. destruct (i =? x)%N; [lra|apply exp_pos]. }
  assert (total : forall x, (x < k)%N ->
    sum (N.to_nat k) (fun i => response_weight e x (N.of_nat i)) = exp (- e) * INR (N.to_nat k) + (1 - exp (- e))).
  { intros x hx. rewrite (sum_ext _ _ (fun i => exp (- e) * 1 + (if (i =? N.to_nat x)%nat then 1 - exp (- e) else 0))).
    - rewrite sum_plus, sum_scale, sum_one, sum_single by lia. reflexivity.
    - intros i _. unfold response_weight.
      destruct (N.eqb_spec (N.of_nat i) x), (Nat.eqb_spec i (N.to_nat x)); try lia; lra. }
  replace e with (e + 0) by lra.
  apply chooses_private with (n := N.to_nat k) (w := response_weight e truth) (w' := response_weight e truth').
  - lia.
  - apply weight_pos.
  - apply weight_pos.
  - intros f unit_f. now apply ev_randomized_response.
  - intros f unit_f. now apply ev_randomized_response.
  - intros i. unfold response_weight.
    assert (one : exp e * exp (- e) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    pose proof (Rmult_le_compat_l (exp e) _ _ (Rlt_le _ _ (exp_pos e)) small).
    destruct (i =? truth)%N, (i =? truth')%N; rewrite ?one; lra.
  - rewrite !total, exp_0 by assumption. lra.
Qed.

(** The exponential mechanism (McSherry, Talwar 2007; [DR14] theorem 3.10), for any sampler that chooses candidate i
    with probability ∝ e^{−x_i}: if neighbours move every exponent by at most ε/2, it is ε-private. *)
Theorem exponential_mechanism_private t u n x x' epsilon :
  (0 < n)%nat ->
  chooses t n (fun i => exp (- x i)) -> chooses u n (fun i => exp (- x' i)) ->
  (forall i, Rabs (x i - x' i) <= epsilon / 2) ->
  indist epsilon 0 t u.
Proof.
  intros some ht hu near. replace epsilon with (epsilon / 2 + epsilon / 2) by lra.
  assert (mono : forall a b, a <= b -> exp a <= exp b).
  { intros a b [lt| ->]; [left; now apply exp_increasing|lra]. }
  assert (sides : forall i, x' i - x i <= epsilon / 2 /\ x i - x' i <= epsilon / 2).
  { intros i. pose proof (near i) as h. unfold Rabs in h. destruct (Rcase_abs (x i - x' i)); lra. }
  apply chooses_private with (n := n) (w := fun i => exp (- x i)) (w' := fun i => exp (- x' i));
    try assumption; try (intros; apply exp_pos).
  - intros i. rewrite <- exp_plus. apply mono. pose proof (sides i). lra.
  - rewrite <- sum_scale. apply sum_le; intros i _. rewrite <- exp_plus. apply mono.
    pose proof (sides (N.of_nat i)). lra.
Qed.

(** Where neighbours move all exponents the same way, by at most ε, ε is enough ([DR14], after theorem 3.10). *)
Theorem exponential_mechanism_monotonic t u n x x' epsilon :
  (0 < n)%nat ->
  chooses t n (fun i => exp (- x i)) -> chooses u n (fun i => exp (- x' i)) ->
  (forall i, 0 <= x i - x' i <= epsilon) ->
  indist epsilon 0 t u /\ indist epsilon 0 u t.
Proof.
  intros some ht hu near.
  assert (mono : forall a b, a <= b -> exp a <= exp b).
  { intros a b [lt| ->]; [left; now apply exp_increasing|lra]. }
  split.
  - replace epsilon with (0 + epsilon) by lra.
    apply chooses_private with (n := n) (w := fun i => exp (- x i)) (w' := fun i => exp (- x' i));
      try assumption; try (intros; apply exp_pos).
    + intros i. rewrite <- exp_plus. apply mono. pose proof (near i). lra.
    + rewrite <- sum_scale. apply sum_le; intros i _. rewrite <- exp_plus. apply mono.
      pose proof (near (N.of_nat i)). lra.
  - replace epsilon with (epsilon + 0) by lra.
    apply chooses_private with (n := n) (w := fun i => exp (- x' i)) (w' := fun i => exp (- x i));
      try assumption; try (intros; apply exp_pos).
    + intros i. rewrite <- exp_plus. apply mono. pose proof (near i). lra.
    + rewrite <- sum_scale. apply sum_le; intros i _. rewrite <- exp_plus. apply mono.
      pose proof (near (N.of_nat i)). lra.
Qed.

(** ** The stable histogram (stability.rs; Korolova et al. 2009; Bun, Nissim, Stemmer 2016) *)

Lemma sums_tail q c m : 0 <= q < 1 ->
  sums (fun n => if (n <? m)%nat then 0 else c * q ^ n) (c * q ^ m / (1 - q)).
Proof.
  intros hq.
  assert (head : sums (fun n => if (n <? m)%nat then q ^ n else 0) (sum m (fun n => q ^ n))).
  { apply (is_lim_seq_ext_loc (fun _ => sum m (fun n => q ^ n))); [|apply is_lim_seq_const].
    exists m. intros n le. now rewrite sum_below. }
  assert (h := sums_plus _ _ _ _ (sums_scale _ c _ (sums_pow q hq)) (sums_scale _ (- c) _ head)).
  assert (closed : c * / (1 - q) + - c * sum m (fun n => q ^ n) = c * q ^ m / (1 - q)).
  { assert (tele := sum_pow m q). apply (Rmult_eq_reg_r (1 - q)); [|lra]. unfold Rdiv.
    rewrite Rmult_plus_distr_r, !Rmult_assoc, Rinv_l, (Rmult_comm (sum m _)), tele by lra. ring. }
  rewrite closed in h. eapply sums_ext; [|exact h]. intros n. cbn beta. destruct (n <? m)%nat; ring.
Qed.

(** P[Z ≥ m] = q^m/(1 + q), for m ≥ 1. *)
Theorem laplace_tail s t (m : nat) : (0 < s)%N -> (0 < t)%N -> (0 < m)%nat ->
  Ev (discrete_laplace s t) (fun z => if (Z.of_nat m <=? z)%Z then 1 else 0)
    (ratio_of s t ^ m / (1 + ratio_of s t)).
Proof.
  intros hs ht some. assert (hq := ratio_bounds s t hs ht). set (q := ratio_of s t) in *.
  apply ev_laplace; [assumption..|intros z; destruct (Z.of_nat m <=? z)%Z; lra|]. fold q.
  replace (q ^ m / (1 + q)) with ((1 - q) / (1 + q) * q ^ m / (1 - q)) by (field; lra).
  eapply sums_ext; [|apply sums_tail; lra]. intros n. cbn beta. rewrite laplace_both.
  destruct n as [|n].
  - cbn [both]. destruct (Nat.ltb_spec 0 m), (Z.leb_spec (Z.of_nat m) 0); try lia; ring.
  - cbn [both]. destruct (Nat.ltb_spec (S n) m), (Z.leb_spec (Z.of_nat m) (Z.of_nat (S n))),
      (Z.leb_spec (Z.of_nat m) (- Z.of_nat (S n))); try lia; ring.
Qed.

(** One key of the histogram: its noisy count if that reaches the threshold. *)
Definition stable_key (s t : N) (threshold count : Z) : tree (option Z) :=
  noisy <- laplace_mechanism s t count;; Ret (if (threshold <=? noisy)%Z then Some noisy else None).

Definition is_none (o : option Z) : R := match o with Some _ => 0 | None => 1 end.

Lemma stable_key_shows s t threshold count (m : nat) :
  (0 < s)%N -> (0 < t)%N -> (0 < m)%nat -> (Z.of_nat m = threshold - count)%Z ->
  Ev (stable_key s t threshold count) is_none (1 - ratio_of s t ^ m / (1 + ratio_of s t)).
Proof.
  intros hs ht some gap. unfold stable_key, laplace_mechanism.
  assert (unit_none : test is_none) by (intros [z|]; cbn; lra).
  apply ev_bind with (fun noisy => if (threshold <=? noisy)%Z then 0 else 1); [exact unit_none| |].
  - intros noisy. eapply ev_eq; [|apply ev_ret]. now destruct (threshold <=? noisy)%Z.
  - apply ev_bind with (fun z => 1 + -1 * (if (Z.of_nat m <=? z)%Z then 1 else 0)).
    + intros z. destruct (threshold <=? z)%Z; lra.
    + intros z. eapply ev_eq; [|apply ev_ret].
      destruct (Z.leb_spec threshold (count + z)), (Z.leb_spec (Z.of_nat m) z); try lia; lra.
    + eapply ev_eq; [|apply ev_linear; [apply (laplace_law s t hs ht)|now apply laplace_tail]]. lra.
Qed.

(** A list of keys, one after the other. *)
Fixpoint stable_histogram (s t : N) (threshold : Z) (counts : list Z) : tree (list (option Z)) :=
  match counts with
  | [] => Ret []
  | count :: counts =>
    key <- stable_key s t threshold count;; rest <- stable_histogram s t threshold counts;; Ret (key :: rest)
  end.

(** 1 if these are [n] keys and none shows, else 0. *)
Fixpoint all_hidden (n : nat) (keys : list (option Z)) : R :=
  match n, keys with
  | O, [] => 1
  | S n, key :: keys => is_none key * all_hidden n keys
  | _, _ => 0
  end.

Lemma test_all_hidden n : test (all_hidden n).
Proof.
  induction n as [|n IH]; intros [|[z|] keys]; cbn; try lra; pose proof (IH keys); lra.
Qed.

Lemma all_hidden_only {A} (counts : list A) keys :
  all_hidden (length counts) keys = 0 \/ keys = map (fun _ => None) counts.
Proof.
  revert keys. induction counts as [|count counts IH]; intros [|[z|] keys]; cbn; auto; [left; ring|].
  destruct (IH keys) as [->| ->]; [left; ring|now right].
Qed.

(** The probability that not one of an owner's new keys shows, each with count [m] below the threshold. *)
Theorem new_keys_hidden s t threshold counts (m : nat) :
  (0 < s)%N -> (0 < t)%N -> (0 < m)%nat ->
  List.Forall (fun count => (Z.of_nat m = threshold - count)%Z) counts ->
  Ev (stable_histogram s t threshold counts) (all_hidden (length counts))
    ((1 - ratio_of s t ^ m / (1 + ratio_of s t)) ^ length counts).
Proof.
  intros hs ht some all. set (p := 1 - ratio_of s t ^ m / (1 + ratio_of s t)).
  induction all as [|count counts gap _ IH]; [apply (ev_ret [] (all_hidden 0))|].
  cbn [stable_histogram length pow].
  apply ev_bind with (fun key => is_none key * p ^ length counts); [apply test_all_hidden| |].
  - intros key. apply ev_bind with (fun rest => is_none key * all_hidden (length counts) rest); [apply test_all_hidden| |].
    + intros rest. eapply ev_eq; [|apply ev_ret]. reflexivity.
    + now apply ev_scale.
  - rewrite Rmult_comm. eapply ev_ext; [|apply ev_scale, (stable_key_shows s t threshold count m); assumption].
    intros key. cbn beta. fold p. ring.
Qed.

(** What almost always gives one value is, up to δ, that value. *)
Theorem almost_constant {A} (t : tree A) a (hidden : A -> R) p :
  (forall x, 0 <= hidden x <= 1) -> (forall x, hidden x = 0 \/ x = a) ->
  Ev t hidden p -> stops t ->
  indist 0 (1 - p) t (Ret a) /\ indist 0 (1 - p) (Ret a) t.
Proof.
  intros unit_h only hp total. split; intros f unit_f v w hv hw.
  - rewrite (ev_unique _ _ _ _ hw (ev_ret a f)), exp_0, Rmult_1_l.
    assert (v <= 1 + -1 * p + f a * p).
    { apply (ev_le t f (fun x => (1 + -1 * hidden x) + f a * hidden x)) with (2 := hv).
      - intros x. pose proof (unit_f x); pose proof (unit_f a); pose proof (unit_h x).
        destruct (only x) as [zero| ->]; [rewrite zero; lra|nra].
      - apply ev_linear; [|exact hp]. apply ev_linear; [exact total|exact hp]. }
    pose proof (unit_f a). assert (0 <= p <= 1) by (apply (ev_test t hidden); assumption). nra.
  - rewrite (ev_unique _ _ _ _ hv (ev_ret a f)), exp_0, Rmult_1_l.
    assert (f a * p <= w).
    { apply (ev_le t (fun x => f a * hidden x) f) with (3 := hw); [|now apply ev_scale].
      intros x. pose proof (unit_f x); pose proof (unit_f a); pose proof (unit_h x).
      destruct (only x) as [zero| ->]; [rewrite zero; lra|nra]. }
    pose proof (unit_f a). assert (0 <= p <= 1) by (apply (ev_test t hidden); assumption). nra.
Qed.

Lemma stable_stops s t threshold counts : (0 < s)%N -> (0 < t)%N -> stops (stable_histogram s t threshold counts).
Proof.
  intros hs ht. assert (one : forall A, test (fun _ : A => 1)) by (intros A x; lra).
  induction counts as [|count counts IH]; [apply (ev_ret [] (fun _ => 1))|].
  apply ev_bind with (fun _ => 1); [apply one| |].
  - intros key. apply ev_bind with (fun _ => 1); [apply one| |exact IH].
    intros rest. apply (ev_ret (key :: rest) (fun _ => 1)).
  - apply ev_bind with (fun _ => 1); [apply one| |].
    + intros noisy. apply (ev_ret _ (fun _ => 1)).
    + apply ev_bind with (fun _ => 1); [apply one| |apply (laplace_law s t hs ht)].
      intros z. apply (ev_ret _ (fun _ => 1)).
Qed.

(** The stable histogram's δ: the keys that only one of two neighbours has, with counts [m] below the threshold,
    against a histogram where none of them is seen. δ = 1 − (1 − q^m/(1 + q))^keys, as [StabilityHistogram::new] bounds
    it. *)
Theorem stable_delta s t threshold counts (m : nat) :
  (0 < s)%N -> (0 < t)%N -> (0 < m)%nat ->
  List.Forall (fun count => (Z.of_nat m = threshold - count)%Z) counts ->
  let unseen := Ret (map (fun _ => None) counts) in
  let delta := 1 - (1 - ratio_of s t ^ m / (1 + ratio_of s t)) ^ length counts in
  indist 0 delta (stable_histogram s t threshold counts) unseen
  /\ indist 0 delta unseen (stable_histogram s t threshold counts).
Proof.
  intros hs ht some all unseen delta.
  apply almost_constant with (all_hidden (length counts)).
  - apply test_all_hidden.
  - apply all_hidden_only.
  - now apply new_keys_hidden.
  - now apply stable_stops.
Qed.

(** How far two lists of counts are apart. *)
Fixpoint distance (counts counts' : list Z) : nat :=
  match counts, counts' with
  | count :: counts, count' :: counts' => (Z.abs_nat (count - count') + distance counts counts')%nat
  | _, _ => O
  end.

Theorem stable_common s t threshold counts counts' :
  (0 < s)%N -> (0 < t)%N -> length counts = length counts' ->
  indist (INR (distance counts counts') * (NR t / NR s)) 0
    (stable_histogram s t threshold counts) (stable_histogram s t threshold counts').
Proof.
  intros hs ht. revert counts'. induction counts as [|count counts IH]; intros [|count' counts'] same;
    try discriminate.
  - cbn [distance INR]. rewrite Rmult_0_l. apply indist_refl.
  - cbn [distance stable_histogram]. rewrite plus_INR, Rmult_plus_distr_r.
    set (e1 := INR (Z.abs_nat (count - count')) * (NR t / NR s)).
    set (e2 := INR (distance counts counts') * (NR t / NR s)).
    apply (indist_weaken (e1 + e2) (0 + 0)); [lra|lra|]. apply composition; [lra| |].
    + apply post_processing. apply laplace_private; [assumption..|lia].
    + intros key. apply post_processing. apply IH. now injection same.
Qed.

Lemma distance_comm counts counts' : distance counts counts' = distance counts' counts.
Proof.
  revert counts'. induction counts as [|count counts IH]; intros [|count' counts']; try reflexivity.
  cbn. rewrite (IH counts'). lia.
Qed.

(** All of it, both ways: keys that both neighbours have, with counts [distance] apart, and keys that only one has. *)
Theorem stable_private s t threshold counts counts' fresh (m : nat) :
  (0 < s)%N -> (0 < t)%N -> (0 < m)%nat -> length counts = length counts' ->
  List.Forall (fun count => (Z.of_nat m = threshold - count)%Z) fresh ->
  let epsilon := INR (distance counts counts') * (NR t / NR s) in
  let delta := 1 - (1 - ratio_of s t ^ m / (1 + ratio_of s t)) ^ length fresh in
  let more := keys <- stable_histogram s t threshold counts;;
    new <- stable_histogram s t threshold fresh;; Ret (keys, new) in
  let less := keys <- stable_histogram s t threshold counts';; new <- Ret (map (fun _ => None) fresh);; Ret (keys, new) in
  indist epsilon delta more less /\ indist epsilon delta less more.
Proof.
  intros hs ht some same all epsilon delta more less.
  assert (pos : 0 <= delta).
  { pose proof (ev_test _ _ _ (test_all_hidden (length fresh)) (new_keys_hidden s t threshold fresh m hs ht some all)).
    unfold delta. lra. }
  replace epsilon with (epsilon + 0) by lra. replace delta with (0 + delta) by lra.
  destruct (stable_delta s t threshold fresh m hs ht some all) as [forth back].
  split; (apply composition; [exact pos| |intros keys; apply post_processing; assumption]).
  - now apply stable_common.
  - unfold epsilon. rewrite distance_comm. now apply stable_common.
Qed.
