(** Coins of bias e^−γ, and what is made of them (bernoulli.rs, randomized_response.rs).

    [CKS20] algorithm 1 and its proposition 4: coins of bias γ/1, γ/2, γ/3, … until one is false; that its place is
    odd has probability e^−γ. *)

From Coq Require Import Reals Lra Lia Arith NArith ZArith.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Model Uniform.
Open Scope R_scope.

Lemma coin_ev t p f : Coin t p -> test f -> Ev t f (p * f true + (1 - p) * f false).
Proof. intros [_ h]. apply h. Qed.

Lemma test_mix p u v : 0 <= p <= 1 -> 0 <= u <= 1 -> 0 <= v <= 1 -> 0 <= p * u + (1 - p) * v <= 1.
Proof. intros. split; nra. Qed.

(** The places of the chain, as 1, 2, 3, … *)
Definition at_place (m : nat) : N := N.of_nat (S m).

Definition chain (body : N -> tree (N + bool)) (gamma : R) : Prop :=
  forall m g, test g ->
    Ev (body (at_place m)) g
      (gamma / INR (S m) * g (inl (at_place (S m))) + (1 - gamma / INR (S m)) * g (inr (N.odd (at_place m)))).

Lemma odd_S m : N.odd (N.of_nat (S m)) = negb (N.odd (N.of_nat m)).
Proof. rewrite Nat2N.inj_succ, N.odd_succ, <- N.negb_odd. reflexivity. Qed.

Lemma fact_pos m : 0 < INR (Factorial.fact m).
Proof. apply INR_fact_lt_0. Qed.

Lemma fact_next m : INR (Factorial.fact (S m)) = INR (S m) * INR (Factorial.fact m).
Proof. rewrite <- mult_INR. reflexivity. Qed.

Lemma chain_rounds body gamma f n m :
  chain body gamma -> test f ->
  rounds body f n (at_place m)
    = sum n (fun i => INR (Factorial.fact m) / INR (Factorial.fact (m + i)) * gamma ^ i
        * (1 - gamma / INR (S (m + i))) * f (N.odd (at_place (m + i)))).
Proof.
  intros hchain unit_f. revert m. induction n as [|n IH]; intros m; [reflexivity|].
  rewrite sum_first. apply rounds_S; [exact unit_f|].
  eapply ev_eq; [|apply hchain, test_round; [now apply test_rounds|exact unit_f]].
  cbn [round]. rewrite IH, <- sum_scale, Rplus_comm.
  assert (pos := fact_pos m). rewrite !Nat.add_0_r.
  apply f_equal2; [cbn [pow]; field; repeat split; first [lra|apply not_0_INR; lia]|].
  apply sum_ext; intros i _.
  replace (m + S i)%nat with (S m + i)%nat by lia.
  rewrite fact_next. cbn [pow].
  assert (INR (S m) <> 0) by (apply not_0_INR; lia).
  pose proof (fact_pos (S m + i)).
  unfold Rdiv. field. repeat split; first [lra|apply not_0_INR; lia].
Qed.

(** The coins' masses telescope, and the odd places give the series of e^−γ. *)
Lemma even_terms gamma n :
  let a i := gamma ^ i / INR (Factorial.fact i) in
  sum n (fun i => (a i - a (S i)) * (if N.odd (at_place i) then 1 else 0))
    = sum n (fun i => (- gamma) ^ i / INR (Factorial.fact i)) - (if N.odd (N.of_nat n) then a n else 0).
Proof.
  intros a.
  assert (sign : forall i, (- gamma) ^ i = (if N.odd (N.of_nat i) then - gamma ^ i else gamma ^ i)).
  { induction i as [|i IH]; [reflexivity|]. rewrite odd_S. cbn [pow]. rewrite IH.
    destruct (N.odd (N.of_nat i)); cbn; lra. }
  induction n as [|n IH]; [cbn; lra|].
  cbn [sum]. rewrite IH, sign. unfold at_place. rewrite odd_S. unfold a. unfold Rdiv.
  destruct (N.odd (N.of_nat n)); cbn [negb]; lra.
Qed.

Theorem coin_chain body gamma : 0 <= gamma <= 1 -> chain body gamma -> Coin (iter body 1%N) (exp (- gamma)).
Proof.
  intros hgamma hchain.
  assert (unit_e : 0 <= exp (- gamma) <= 1).
  { split; [left; apply exp_pos|]. rewrite <- exp_0. destruct (Req_dec gamma 0) as [->|other].
    - rewrite Ropp_0. lra.
    - left. apply exp_increasing. lra. }
  split; [exact unit_e|]. intros f unit_f.
  apply ev_rounds; [exact unit_f|].
  set (a i := gamma ^ i / INR (Factorial.fact i)).
  assert (closed : forall n, rounds body f n 1%N
    = f false * (1 - a n) + (f true - f false)
      * (sum n (fun i => (- gamma) ^ i / INR (Factorial.fact i)) - (if N.odd (N.of_nat n) then a n else 0))).
  { intros n. change 1%N with (at_place 0). rewrite (chain_rounds body gamma) by assumption.
    assert (even : sum n (fun i => (a i - a (S i)) * (if N.odd (at_place i) then 1 else 0))
      = sum n (fun i => (- gamma) ^ i / INR (Factorial.fact i)) - (if N.odd (N.of_nat n) then a n else 0))
      by apply even_terms.
    rewrite <- even. clear even.
    assert (telescope : sum n (fun i => a i - a (S i)) = 1 - a n).
    { clear. induction n as [|n IH]; cbn [sum]; [unfold a; cbn; field|rewrite IH; lra]. }
    rewrite <- telescope, <- !sum_scale, <- sum_plus.
    apply sum_ext; intros i _. cbn [Nat.add].
    assert (mass : INR (Factorial.fact 0) / INR (Factorial.fact i) * gamma ^ i * (1 - gamma / INR (S i))
      = a i - a (S i)).
    { unfold a. rewrite fact_next. cbn [pow]. pose proof (fact_pos i).
      assert (INR (S i) <> 0) by (apply not_0_INR; lia). change (INR (Factorial.fact 0)) with 1. field.
      repeat split; first [assumption|lra]. }
    rewrite mass. destruct (N.odd (at_place i)); lra. }
  apply (is_lim_seq_ext _ _ _ (fun n => eq_sym (closed n))).
  assert (vanish : is_lim_seq a 0) by (apply (terms_vanish a (exp gamma)), sums_exp).
  replace (exp (- gamma) * f true + (1 - exp (- gamma)) * f false)
    with (f false * (1 - 0) + (f true - f false) * (exp (- gamma) - 0)) by lra.
  apply is_lim_seq_plus'.
  - apply (is_lim_seq_scal_l _ (f false) (1 - 0)). apply is_lim_seq_minus'; [apply is_lim_seq_const|exact vanish].
  - apply (is_lim_seq_scal_l _ (f true - f false) (exp (- gamma) - 0)).
    apply is_lim_seq_minus'; [apply sums_exp|].
    apply (is_lim_seq_le_le (fun _ => 0) _ a); [|apply is_lim_seq_const|exact vanish].
    intros n. assert (0 <= a n).
    { unfold a. apply Rdiv_le_0_compat; [apply pow_le; lra|apply fact_pos]. }
    destruct (N.odd (N.of_nat n)); lra.
Qed.

Lemma NR_place m : NR (at_place m) = INR (S m).
Proof. unfold NR, at_place. now rewrite Nat2N.id. Qed.

Lemma place_next m : (at_place m + 1)%N = at_place (S m).
Proof. unfold at_place. lia. Qed.

Lemma mean_zero n (a b : R) : (0 < n)%N ->
  mean (N.to_nat n) (fun x => if (x =? 0)%N then a else b) = 1 / NR n * a + (1 - 1 / NR n) * b.
Proof.
  intros pos. replace 1 with (NR 1) at 1 2 by reflexivity. rewrite <- mean_below by lia.
  unfold mean. f_equal. apply sum_ext; intros i _.
  destruct (N.eqb_spec (N.of_nat i) 0), (N.ltb_spec (N.of_nat i) 1); try lia; reflexivity.
Qed.

(** A die of as many sides as the place, which shows 0. *)
Lemma ev_die m g : test g ->
  Ev (die <- below_u64 (at_place m);; Ret (onward (at_place m) (die =? 0)%N)) g
    (1 / INR (S m) * g (inl (at_place (S m))) + (1 - 1 / INR (S m)) * g (inr (N.odd (at_place m)))).
Proof.
  intros unit_g. rewrite <- NR_place, <- place_next.
  apply ev_bind with (fun x => if (x =? 0)%N then g (inl (at_place m + 1)%N) else g (inr (N.odd (at_place m)))).
  - exact unit_g.
  - intros x. eapply ev_eq; [|apply ev_ret]. unfold onward. now destruct (x =? 0)%N.
  - rewrite <- mean_zero by (unfold at_place; lia).
    apply ev_below_u64; [unfold at_place; lia|]. intros x. destruct (x =? 0)%N; apply unit_g.
Qed.

Theorem coin_exp_minus_one : Coin exp_minus_one (exp (- (1))).
Proof. apply (coin_chain _ 1); [lra|]. intros m g unit_g. now apply ev_die. Qed.

Theorem coin_exp_minus_up_to_one n d :
  (0 < d)%N -> (n <= d)%N -> Coin (exp_minus_up_to_one n d) (exp (- (NR n / NR d))).
Proof.
  intros pos le. pose proof (ratio_unit d n pos le) as unit_gamma.
  assert (NR d <> 0) by (apply not_0_INR; lia).
  unfold exp_minus_up_to_one. destruct (fits_u64 n && fits_u64 d)%bool.
  - apply coin_chain; [exact unit_gamma|]. intros m g unit_g.
    set (next := 1 / INR (S m) * g (inl (at_place (S m))) + (1 - 1 / INR (S m)) * g (inr (N.odd (at_place m)))).
    apply ev_bind with (fun x => if (x <? n)%N then next else g (inr (N.odd (at_place m)))).
    + exact unit_g.
    + intros x. destruct (x <? n)%N; [now apply ev_die|apply ev_ret].
    + eapply ev_eq; [|apply ev_below_u64; [exact pos|]].
      * rewrite mean_below by assumption. unfold next. field. repeat split; first [assumption|apply not_0_INR; lia].
      * intros x. destruct (x <? n)%N; [|apply unit_g].
        apply (ev_test (die <- below_u64 (at_place m);; Ret (onward (at_place m) (die =? 0)%N)) g); [exact unit_g|].
        now apply ev_die.
  - apply coin_chain; [exact unit_gamma|]. intros m g unit_g.
    assert (place_pos : (0 < at_place m)%N) by (unfold at_place; lia).
    assert (le' : (n <= d * at_place m)%N) by (unfold at_place; nia).
    apply ev_bind with (fun coin : bool => if coin then g (inl (at_place (S m))) else g (inr (N.odd (at_place m)))).
    + exact unit_g.
    + intros coin. eapply ev_eq; [|apply ev_ret]. unfold onward. rewrite place_next. now destruct coin.
    + eapply ev_eq; [|apply (coin_is_below n (d * at_place m)); [nia|exact le'|]].
      * assert (split : NR (d * at_place m) = NR d * INR (S m)).
        { unfold NR. rewrite N2Nat.inj_mul, mult_INR. unfold at_place. now rewrite Nat2N.id. }
        rewrite split. field. repeat split; first [assumption|apply not_0_INR; lia].
      * intros coin. destruct coin; apply unit_g.
Qed.

Lemma coin_weaken t p q : p = q -> Coin t p -> Coin t q.
Proof. now intros ->. Qed.

(** [bernoulli::exp_minus]: for every x = n/d ≥ 0, a coin of bias e^−x. *)
Theorem coin_exp_minus n d : (0 < d)%N -> Coin (exp_minus n d) (exp (- (NR n / NR d))).
Proof.
  intros pos. unfold exp_minus. destruct (N.leb_spec n d) as [le|gt]; [now apply coin_exp_minus_up_to_one|].
  assert (NR d <> 0) by (apply not_0_INR; lia).
  assert (rest : (n mod d < d)%N) by (apply N.mod_lt; lia).
  set (r := (n mod d)%N) in *.
  set (body := fun whole : N => _).
  assert (each : forall w, Coin (iter body w) (exp (- (NR w + NR r / NR d)))).
  { intros w. split.
    - split; [left; apply exp_pos|]. rewrite <- exp_0.
      assert (0 <= NR w) by apply pos_INR. pose proof (ratio_unit d r pos ltac:(lia)).
      destruct (Req_dec (NR w + NR r / NR d) 0) as [->|other]; [rewrite Ropp_0; lra|].
      left. apply exp_increasing. lra.
    - intros f unit_f. induction w as [|w IH] using N.peano_ind.
      + apply ev_iter_next; [exact unit_f|]. intros h unit_h _.
        unfold body. change (0 =? 0)%N with true. cbn [NR].
        apply ev_bind with f; [now apply test_round|intros b; apply (ev_ret (inr b) (round h f))|].
        replace (NR 0 + NR r / NR d) with (NR r / NR d) by (unfold NR; cbn; lra).
        apply coin_exp_minus_up_to_one; [exact pos|lia|exact unit_f].
      + apply ev_iter_next; [exact unit_f|]. intros h unit_h he.
        unfold body at 1. replace (N.succ w =? 0)%N with false by (symmetry; apply N.eqb_neq; lia).
        replace (N.succ w - 1)%N with w by lia.
        apply ev_bind with (fun coin : bool => if coin then h w else f false).
        * now apply test_round.
        * intros coin. eapply ev_eq; [|apply ev_ret]. now destruct coin.
        * eapply ev_eq; [|apply coin_exp_minus_one].
          -- cbn beta iota. rewrite (ev_unique _ _ _ _ (he w) IH).
             replace (- (NR (N.succ w) + NR r / NR d)) with (- (1) + - (NR w + NR r / NR d)).
             ++ rewrite exp_plus. ring.
             ++ unfold NR. rewrite N2Nat.inj_succ, S_INR. ring.
          -- intros coin. destruct coin; [apply unit_h|apply unit_f]. }
  eapply coin_weaken; [|apply each]. f_equal. f_equal.
  assert (whole : NR n = NR d * NR (n / d) + NR r).
  { unfold NR. rewrite <- mult_INR, <- plus_INR, <- N2Nat.inj_mul, <- N2Nat.inj_add. f_equal. f_equal.
    apply N.div_mod. lia. }
  rewrite whole. field. assumption.
Qed.

(** [bernoulli::logistic]: true with probability 1/(1 + e^−x). *)
Theorem coin_logistic n d : (0 < d)%N -> Coin (logistic n d) (1 / (1 + exp (- (NR n / NR d)))).
Proof.
  intros pos. pose proof (coin_exp_minus n d pos) as [unit_e coin]. set (e := exp (- (NR n / NR d))) in *.
  split.
  - split; [apply Rdiv_le_0_compat; lra|]. apply (Rmult_le_reg_r (1 + e)); [lra|]. field_simplify; lra.
  - intros f unit_f. unfold logistic.
    eapply ev_eq; [|apply ev_repeat with (a := (f true + e * f false) / 2) (q := (1 - e) / 2); [exact unit_f|..]].
    + field. lra.
    + apply ev_flip; [apply (ev_ret (Some true) (kept f))|].
      apply ev_bind with (fun c : bool => if c then f false else 0).
      * intros [b|]; cbn; [apply unit_f|lra].
      * intros c. eapply ev_eq; [|apply ev_ret]. now destruct c.
      * eapply ev_eq; [|apply coin; intros c; destruct c; [apply unit_f|lra]]. cbn. lra.
    + replace ((1 - e) / 2) with ((0 + (1 - e)) / 2) by lra.
      apply ev_flip; [apply (ev_ret (Some true) missed)|].
      apply ev_bind with (fun c : bool => if c then 0 else 1).
      * intros [b|]; cbn; lra.
      * intros c. eapply ev_eq; [|apply ev_ret]. now destruct c.
      * eapply ev_eq; [|apply coin; intros c; destruct c; lra]. cbn. lra.
    + lra.
Qed.

(** Uniform candidates that are kept by coins: each comes in proportion to its coin's bias. *)
Theorem ev_weighted (draw : tree N) n (choose : N -> tree (option N)) (w : N -> R) f :
  (0 < n)%nat ->
  (forall g, test g -> Ev draw g (mean n g)) ->
  test w ->
  (forall i g, test g -> Ev (choose i) g (w i * g (Some i) + (1 - w i) * g None)) ->
  0 < sum n (fun i => w (N.of_nat i)) ->
  test f ->
  Ev (repeat (bind draw choose)) f
    (sum n (fun i => w (N.of_nat i) * f (N.of_nat i)) / sum n (fun i => w (N.of_nat i))).
Proof.
  intros some uniform unit_w each total unit_f.
  assert (n_pos : 0 < INR n) by now apply lt_0_INR.
  set (W := sum n (fun i => w (N.of_nat i))) in *.
  assert (test_kept : test (kept f)) by (intros [x|]; cbn; [apply unit_f|lra]).
  assert (test_missed : test (@missed N)) by (intros [x|]; cbn; lra).
  eapply ev_eq; [|apply ev_repeat with
    (a := sum n (fun i => w (N.of_nat i) * f (N.of_nat i)) / INR n) (q := 1 - W / INR n); [exact unit_f|..]].
  - field. lra.
  - apply ev_bind with (fun i => w i * f i); [exact test_kept| |].
    + intros i. eapply ev_eq; [|apply each, test_kept]. cbn. lra.
    + apply uniform. intros i. pose proof (unit_w i); pose proof (unit_f i). split; nra.
  - apply ev_bind with (fun i => 1 + -1 * w i); [exact test_missed| |].
    + intros i. eapply ev_eq; [|apply each, test_missed]. cbn. lra.
    + eapply ev_eq; [|apply uniform; intros i; pose proof (unit_w i); lra].
      unfold mean. rewrite sum_plus, sum_one, sum_scale. fold W. field. lra.
  - assert (0 < W / INR n) by (apply Rdiv_lt_0_compat; lra). lra.
Qed.

(** Randomized response among [k] answers: the truth with weight 1, every other with weight e^−ε. *)
Definition response_weight (epsilon : R) (truth i : N) : R := if (i =? truth)%N then 1 else exp (- epsilon).

Theorem ev_randomized_response k n d truth f :
  (0 < d)%N -> (truth < k)%N -> test f ->
  let w := response_weight (NR n / NR d) truth in
  Ev (randomized_response k n d truth) f
    (sum (N.to_nat k) (fun i => w (N.of_nat i) * f (N.of_nat i)) / sum (N.to_nat k) (fun i => w (N.of_nat i))).
Proof.
  intros pos less unit_f w. pose proof (coin_exp_minus n d pos) as [unit_e coin].
  assert (w_pos : forall i, 0 < w i).
  { intros i. unfold w, response_weight. destruct (i =? truth)%N; [lra|apply exp_pos]. }
  apply ev_weighted with (w := w); [lia| | | | |exact unit_f].
  - intros g unit_g. now apply ev_below_u64; [lia|].
  - intros i. unfold w, response_weight. destruct (i =? truth)%N; [lra|exact unit_e].
  - intros i g unit_g. unfold w, response_weight. destruct (i =? truth)%N.
    + eapply ev_eq; [|apply ev_ret]. lra.
    + apply ev_bind with (fun c : bool => if c then g (Some i) else g None).
      * exact unit_g.
      * intros c. eapply ev_eq; [|apply ev_ret]. now destruct c.
      * apply coin. intros c. destruct c; apply unit_g.
  - assert (0 < sum 1 (fun i => w (N.of_nat i))) by (cbn; pose proof (w_pos 0%N); lra).
    eapply Rlt_le_trans; [exact H|]. apply sum_mono; [intros i; left; apply w_pos|lia].
Qed.
