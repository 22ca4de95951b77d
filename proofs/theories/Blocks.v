(** The fast path (blocks.rs): any table that holds what it claims gives exactly the right law.

    A uniform real is compared with cumulative probabilities that are known to some digits. Bits of it are read until
    they decide ([search]); a block, a place in it and a coin make the integer, or it starts again ([block_sampler]).
    Here the table is any set of decisions that is sound: a decided word lies wholly inside its cell. [scan_sound] says
    that of a table of lower bounds and an uncertainty; checking a table's certificate is checking its hypotheses. *)

From Coq Require Import Reals Lra Lia List Arith NArith ZArith.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Uniform Bernoulli Laplace Lists Outcomes.
Import ListNotations.
Open Scope R_scope.

(** [decide n x]: the cell of a real whose first [n] bits are those of [x], if that is certain. *)
CoFixpoint search (decide : nat -> N -> option nat) (n : nat) (x : N) : tree nat :=
  match decide n x with
  | Some cell => Ret cell
  | None => Flip (fun bit : bool => search decide (S n) (2 * x + if bit then 1 else 0))
  end.

Lemma search_eq decide n x :
  search decide n x = match decide n x with
    | Some cell => Ret cell
    | None => Flip (fun bit : bool => search decide (S n) (2 * x + if bit then 1 else 0))
    end.
Proof.
  destruct (decide n x) as [cell|] eqn:e; rewrite (unfold_eq (search decide n x));
    change (unfolded (search decide n x)) with (unfolded (match decide n x with
      | Some cell => Ret cell
      | None => Flip (fun bit : bool => search decide (S n) (2 * x + if bit then 1 else 0))
      end)); rewrite e; reflexivity.
Qed.

(** The real between these bits and their successor. *)
Definition low (n : nat) (x : N) : R := NR x / 2 ^ n.
Definition high (n : nat) (x : N) : R := (NR x + 1) / 2 ^ n.

(** Cell [c] is between [C c] and [C (S c)]. *)
Definition sound (decide : nat -> N -> option nat) (C : nat -> R) : Prop :=
  forall n x c, decide n x = Some c -> C c <= low n x /\ high n x <= C (S c).

Lemma half_low n x : low (S n) (2 * x + 0) = low n x.
Proof.
  unfold low, NR. rewrite N.add_0_r, N2Nat.inj_mul, mult_INR. cbn [pow]. change (INR (N.to_nat 2)) with 2.
  field. pose proof (pow2_pos n). lra.
Qed.

Lemma half_middle n x : high (S n) (2 * x + 0) = low (S n) (2 * x + 1).
Proof.
  unfold low, high, NR. rewrite N.add_0_r, N2Nat.inj_add, plus_INR. change (INR (N.to_nat 1)) with 1. reflexivity.
Qed.

Lemma half_high n x : high (S n) (2 * x + 1) = high n x.
Proof.
  unfold high, NR. rewrite N2Nat.inj_add, N2Nat.inj_mul, plus_INR, mult_INR. cbn [pow].
  change (INR (N.to_nat 2)) with 2. change (INR (N.to_nat 1)) with 1.
  field. pose proof (pow2_pos n). lra.
Qed.

(** What is decided cannot weigh more than the part of the line that [F] measures. *)
Lemma search_measure decide (f : nat -> R) (F : R -> R) :
  (forall a b, a <= b -> F a <= F b) ->
  (forall n x c, decide n x = Some c -> f c <= 2 ^ n * (F (high n x) - F (low n x))) ->
  forall k n x, wp k (search decide n x) f <= 2 ^ n * (F (high n x) - F (low n x)).
Proof.
  intros mono decided. induction k as [|k IH]; intros n x.
  - cbn. apply Rmult_le_pos; [left; apply pow2_pos|].
    assert (low n x <= high n x); [|pose proof (mono _ _ H); lra].
    unfold low, high. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, pow2_pos|lra].
  - rewrite search_eq. destruct (decide n x) as [c|] eqn:e; [now apply decided|].
    cbn [wp]. pose proof (IH (S n) (2 * x + 1)%N) as right. pose proof (IH (S n) (2 * x + 0)%N) as left.
    rewrite half_high in right. rewrite half_low, half_middle in left. cbn [pow] in *. lra.
Qed.

Definition is_nat (c i : nat) : R := if (i =? c)%nat then 1 else 0.

Lemma test_is_nat c : test (is_nat c).
Proof. intros i. unfold is_nat. destruct (i =? c)%nat; lra. Qed.

Definition clamp (a b y : R) : R := Rmin (Rmax y a) b.

(** The cell comes with exactly its probability. *)
Theorem search_exact decide C c :
  C O = 0 -> (forall i, C i <= C (S i)) -> (forall i, C i <= 1) ->
  sound decide C -> stops (search decide 0 0) ->
  Ev (search decide 0 0) (is_nat c) (C (S c) - C c).
Proof.
  intros zero mono_C top hsound total.
  assert (mono : forall i j, (i <= j)%nat -> C i <= C j).
  { intros i j le. induction le as [|j _ IH]; [lra|]. pose proof (mono_C j). lra. }
  assert (bottom : forall i, 0 <= C i) by (intros i; rewrite <- zero; apply mono; lia).
  set (F := clamp (C c) (C (S c))).
  assert (le_c := mono_C c).
  assert (ends : F 1 - F 0 = C (S c) - C c).
  { unfold F, clamp. pose proof (bottom c); pose proof (top c); pose proof (top (S c)).
    rewrite (Rmax_left 1), (Rmax_right 0), (Rmin_right 1), Rmin_left by lra. lra. }
  assert (F_mono : forall a b, a <= b -> F a <= F b).
  { intros a b le. unfold F, clamp, Rmin, Rmax. repeat destruct (Rle_dec _ _); lra. }
  assert (F_short : forall a b, a <= b -> F b - F a <= b - a).
  { intros a b le. unfold F, clamp, Rmin, Rmax. repeat destruct (Rle_dec _ _); lra. }
  assert (width : forall n x, 2 ^ n * (high n x - low n x) = 1).
  { intros n x. unfold high, low. field. pose proof (pow2_pos n). lra. }
  assert (order : forall n x, low n x <= high n x).
  { intros n x. unfold low, high. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, pow2_pos|lra]. }
  assert (start : low 0 0 = 0 /\ high 0 0 = 1) by (unfold low, high, NR; cbn; lra).
  destruct start as [start_low start_high].
  destruct (ev_exists (search decide 0 0) (is_nat c) (test_is_nat c)) as [v hv].
  assert (at_most : v <= C (S c) - C c).
  { rewrite <- ends. apply (ev_least (search decide 0 0) (is_nat c) v); [exact hv|]. intros k.
    assert (h := search_measure decide (is_nat c) F F_mono).
    rewrite <- start_high, <- start_low.
    replace (F (high 0 0) - F (low 0 0)) with (2 ^ 0 * (F (high 0 0) - F (low 0 0))) by (cbn; ring).
    apply h. intros n x i e. unfold is_nat. destruct (Nat.eqb_spec i c) as [->|other].
    - destruct (hsound n x c e) as [lo hi].
      replace (F (high n x)) with (high n x); [replace (F (low n x)) with (low n x)|].
      + rewrite width. lra.
      + pose proof (order n x). unfold F, clamp, Rmin, Rmax. repeat destruct (Rle_dec _ _); lra.
      + pose proof (order n x). unfold F, clamp, Rmin, Rmax. repeat destruct (Rle_dec _ _); lra.
    - apply Rmult_le_pos; [left; apply pow2_pos|]. pose proof (F_mono _ _ (order n x)). lra. }
  assert (others : Ev (search decide 0 0) (fun i => 1 + -1 * is_nat c i) (1 + -1 * v)) by now apply ev_linear.
  assert (at_least : 1 + -1 * v <= 1 - (C (S c) - C c)).
  { apply (ev_least (search decide 0 0) _ _ _ others). intros k.
    set (G := fun y => y - F y).
    replace (1 - (C (S c) - C c)) with (2 ^ 0 * (G (high 0 0) - G (low 0 0)))
      by (unfold G; rewrite start_high, start_low; cbn [pow]; lra).
    apply search_measure.
    - intros a b le. unfold G. pose proof (F_short a b le). lra.
    - intros n x i e. unfold is_nat. destruct (Nat.eqb_spec i c) as [->|other].
      + replace (1 + -1 * 1) with 0 by ring. apply Rmult_le_pos; [left; apply pow2_pos|].
        unfold G. pose proof (F_short _ _ (order n x)). lra.
      + destruct (hsound n x i e) as [lo hi].
        assert (flat : F (high n x) = F (low n x)).
        { pose proof (order n x). destruct (Nat.lt_total i c) as [less|[same|more]]; [|contradiction|].
          - assert (C (S i) <= C c) by (apply mono; lia).
            unfold F, clamp, Rmin, Rmax. repeat destruct (Rle_dec _ _); lra.
          - assert (C (S c) <= C i) by (apply mono; lia).
            unfold F, clamp, Rmin, Rmax. repeat destruct (Rle_dec _ _); lra. }
        unfold G. rewrite flat.
        replace (high n x - F (low n x) - (low n x - F (low n x))) with (high n x - low n x) by ring.
        rewrite width. lra. }
  now replace (C (S c) - C c) with v by lra.
Qed.

(** A coin against an enclosed bias ([bernoulli::real]): cell 0 is below the bias, cell 1 above. *)
Theorem enclosed_coin decide p : 0 <= p <= 1 ->
  sound decide (fun i => match i with O => 0 | 1%nat => p | _ => 1 end) ->
  stops (search decide 0 0) ->
  Coin (cell <- search decide 0 0;; Ret (cell =? 0)%nat) p.
Proof.
  intros unit_p hsound total. split; [exact unit_p|]. intros f unit_f.
  assert (h : Ev (search decide 0 0) (is_nat 0) (p - 0)).
  { apply (search_exact decide (fun i => match i with O => 0 | 1%nat => p | _ => 1 end) 0); auto.
    - intros [|[|i]]; lra.
    - intros [|[|i]]; lra. }
  apply ev_bind with (fun i => f false * 1 + (f true - f false) * is_nat 0 i); [exact unit_f| |].
  - intros i. eapply ev_eq; [|apply ev_ret]. unfold is_nat. destruct (i =? 0)%nat; ring.
  - eapply ev_eq; [|apply ev_linear; [apply ev_scale, total|exact h]]. ring.
Qed.

(** ** A table of lower bounds *)

(** The scan of [block_of_first]: the first cell whose end is certainly beyond the word, unless an end before it is too
    close to tell. *)
Fixpoint scan (ends : list N) (uncertainty word : N) (cell : nat) : option nat :=
  match ends with
  | [] => None
  | e :: ends =>
    if (word <? e)%N then Some cell
    else if (word - e <? uncertainty)%N then None
    else scan ends uncertainty word (S cell)
  end.

(** The certificate: each end is a lower bound of 2^n times its cumulative probability, which lies below the end plus
    the uncertainty. *)
Fixpoint certified (n : nat) (C : nat -> R) (ends : list N) (uncertainty : N) (cell : nat) : Prop :=
  match ends with
  | [] => True
  | e :: ends =>
    NR e / 2 ^ n <= C (S cell) <= (NR e + NR uncertainty) / 2 ^ n /\ certified n C ends uncertainty (S cell)
  end.

Theorem scan_sound n C ends uncertainty word first c :
  certified n C ends uncertainty first -> C first <= low n word ->
  scan ends uncertainty word first = Some c -> C c <= low n word /\ high n word <= C (S c).
Proof.
  revert first. induction ends as [|e ends IH]; intros first cert start found; cbn in *; [discriminate|].
  destruct cert as [[lower upper] rest].
  assert (scale : forall a b, a <= b -> a / 2 ^ n <= b / 2 ^ n).
  { intros a b le. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, pow2_pos|exact le]. }
  destruct (N.ltb_spec word e) as [inside|beyond].
  - injection found as <-. split; [exact start|].
    eapply Rle_trans; [|exact lower]. apply scale. unfold NR.
    replace 1 with (INR 1) by reflexivity. rewrite <- plus_INR. apply le_INR. lia.
  - destruct (N.ltb_spec (word - e) uncertainty) as [close|apart]; [discriminate|].
    apply (IH (S first)); [exact rest| |exact found].
    eapply Rle_trans; [exact upper|]. apply scale. unfold NR. rewrite <- plus_INR. apply le_INR. lia.
Qed.

(** ** Blocks *)

(** The law of a sampler of natural numbers, for every test. *)
Theorem ev_of_law t p f v :
  (forall c, Ev t (is_nat c) (p c)) -> test f -> sums (fun c => p c * f c) v -> Ev t f v.
Proof.
  intros points unit_f hv.
  assert (hlaw : law Nat.eq_dec t p).
  { intros c. eapply ev_ext; [|apply points]. intros i. unfold is_nat, is.
    destruct (Nat.eqb_spec i c), (Nat.eq_dec c i); congruence. }
  assert (pos : forall c, 0 <= p c * f c).
  { intros c. pose proof (law_pos Nat.eq_dec t p c hlaw). pose proof (unit_f c). nra. }
  destruct (ev_exists t f unit_f) as [w hw].
  assert (w <= v).
  { apply (law_least Nat.eq_dec t p f w v hlaw unit_f hw). intros l nodup.
    assert (inc : exists n, incl l (seq 0 n)).
    { clear nodup. induction l as [|x l [n h]]; [exists O; intros ? []|].
      exists (n + S x)%nat. intros y [->|k]; apply in_seq; [lia|]. apply h, in_seq in k. lia. }
    destruct inc as [n inc]. eapply Rle_trans; [apply lsum_incl; [exact pos|exact nodup|exact inc]|].
    rewrite lsum_seq. now apply sums_above. }
  assert (v <= w).
  { apply (is_lim_seq_le (fun n => sum n (fun c => p c * f c)) (fun _ => w) v w); [|exact hv|apply is_lim_seq_const].
    intros n. rewrite <- lsum_seq. apply (law_below Nat.eq_dec t p f w); auto. apply seq_NoDup. }
  now replace v with w by lra.
Qed.

Section Blocks.
  (** Cell [c] holds [size c] integers [place c i], of weights at most [edge c]; the envelope's total is [T]. *)
  Variables (size : nat -> N) (place : nat -> N -> Z) (edge : nat -> R) (weight : Z -> R) (T : R).
  Variables (block : tree nat) (step : nat -> tree N) (keep : nat -> N -> tree bool).
  Hypotheses
    (some : forall c, (0 < size c)%N)
    (edge_pos : forall c, 0 < edge c)
    (falls : forall c i, 0 <= weight (place c i) <= edge c)
    (T_pos : 0 < T)
    (envelope : sums (fun c => NR (size c) * edge c) T)
    (block_law : forall c, Ev block (is_nat c) (NR (size c) * edge c / T))
    (step_law : forall c f, test f -> Ev (step c) f (mean (N.to_nat (size c)) f))
    (keep_law : forall c i, Coin (keep c i) (weight (place c i) / edge c)).

  Definition block_sampler : tree Z :=
    repeat (c <- block;; i <- step c;; kept <- keep c i;; Ret (if kept then Some (place c i) else None)).

  Let over (c : nat) (f : Z -> R) : R :=
    sum (N.to_nat (size c)) (fun i => weight (place c (N.of_nat i)) * f (place c (N.of_nat i))).

  Lemma inner c g : test g ->
    Ev (i <- step c;; kept <- keep c i;; Ret (if kept then Some (place c i) else None)) g
      (mean (N.to_nat (size c)) (fun i => weight (place c i) / edge c * g (Some (place c i))
        + (1 - weight (place c i) / edge c) * g None)).
  Proof.
    intros unit_g.
    assert (each : forall i, Ev (kept <- keep c i;; Ret (if kept then Some (place c i) else None)) g
      (weight (place c i) / edge c * g (Some (place c i)) + (1 - weight (place c i) / edge c) * g None)).
    { intros i. apply ev_bind with (fun b : bool => if b then g (Some (place c i)) else g None); [exact unit_g| |].
      - intros b. eapply ev_eq; [|apply ev_ret]. now destruct b.
      - apply (keep_law c i). intros b. destruct b; apply unit_g. }
    apply ev_bind with (2 := each); [exact unit_g|]. apply step_law. intros i.
    eapply ev_test; [exact unit_g|apply each].
  Qed.

  Theorem ev_blocks f u total : test f -> 0 < total ->
    sums (fun c => over c (fun _ => 1)) total -> sums (fun c => over c f) u ->
    Ev block_sampler f (u / total).
  Proof.
    intros unit_f pos htotal hu.
    assert (n_pos : forall c, 0 < INR (N.to_nat (size c))).
    { intros c. apply lt_0_INR. pose proof (some c). lia. }
    assert (mean_kept : forall c g, mean (N.to_nat (size c)) (fun i => weight (place c i) / edge c * g (place c i))
      = over c g / (NR (size c) * edge c)).
    { intros c g. unfold mean, over, NR. pose proof (edge_pos c); pose proof (n_pos c).
      rewrite (sum_ext _ (fun i => weight (place c (N.of_nat i)) / edge c * g (place c (N.of_nat i)))
        (fun i => / edge c * (weight (place c (N.of_nat i)) * g (place c (N.of_nat i))))).
      - rewrite sum_scale. field. lra.
      - intros i _. field. lra. }
    assert (unit_kept : test (kept f)) by (intros [z|]; cbn; [apply unit_f|lra]).
    assert (unit_missed : test (@missed Z)) by (intros [z|]; cbn; lra).
    assert (whole : sums (fun c => NR (size c) * edge c / T * 1) 1).
    { assert (h := sums_scale _ (/ T) _ envelope). replace (/ T * T) with 1 in h by (field; lra).
      eapply sums_ext; [|exact h]. intros c. cbn beta. unfold Rdiv. ring. }
    eapply ev_eq; [|apply ev_repeat with (a := u / T) (q := 1 + -1 * (total / T)); [exact unit_f|..]].
    - field. lra.
    - apply ev_bind with (fun c => over c f / (NR (size c) * edge c)); [exact unit_kept| |].
      + intros c. eapply ev_eq; [|apply inner, unit_kept]. rewrite <- mean_kept.
        unfold mean. f_equal. apply sum_ext; intros i _. cbn. ring.
      + apply ev_of_law with (p := fun c => NR (size c) * edge c / T); [exact block_law| |].
        * intros c. assert (Ev (i <- step c;; kept <- keep c i;; Ret (if kept then Some (place c i) else None))
            (kept f) (over c f / (NR (size c) * edge c))).
          { eapply ev_eq; [|apply inner, unit_kept]. rewrite <- mean_kept.
            unfold mean. f_equal. apply sum_ext; intros i _. cbn. ring. }
          eapply ev_test; [exact unit_kept|exact H].
        * replace (u / T) with (/ T * u) by (field; lra).
          eapply sums_ext; [|apply sums_scale, hu]. intros c. cbn beta.
          pose proof (edge_pos c); pose proof (n_pos c). unfold NR. field. repeat split; lra.
    - apply ev_bind with (fun c => 1 + -1 * (over c (fun _ => 1) / (NR (size c) * edge c))); [exact unit_missed| |].
      + intros c. eapply ev_eq; [|apply inner, unit_missed]. rewrite <- mean_kept. unfold mean.
        rewrite (sum_ext _ (fun i => weight (place c (N.of_nat i)) / edge c * missed (Some (place c (N.of_nat i)))
            + (1 - weight (place c (N.of_nat i)) / edge c) * missed None)
          (fun i => 1 + -1 * (weight (place c (N.of_nat i)) / edge c * 1))) by (intros i _; cbn; ring).
        rewrite sum_plus, sum_scale, sum_one. pose proof (n_pos c). field. lra.
      + apply ev_linear.
        * apply ev_of_law with (p := fun c => NR (size c) * edge c / T); [exact block_law|intros c; lra|].
          exact whole.
        * apply ev_of_law with (p := fun c => NR (size c) * edge c / T); [exact block_law| |].
          -- intros c. assert (Ev (i <- step c;; kept <- keep c i;; Ret (if kept then Some (place c i) else None))
               (kept (fun _ => 1)) (over c (fun _ => 1) / (NR (size c) * edge c))).
             { assert (t1 : test (kept (fun _ : Z => 1))) by (intros [z|]; cbn; lra).
               eapply ev_eq; [|apply inner, t1]. rewrite <- mean_kept.
               unfold mean. f_equal. apply sum_ext; intros i _. cbn. ring. }
             eapply ev_test; [|exact H]. intros [z|]; cbn; lra.
          -- replace (total / T) with (/ T * total) by (field; lra).
             eapply sums_ext; [|apply sums_scale, htotal]. intros c. cbn beta.
             pose proof (edge_pos c); pose proof (n_pos c). unfold NR. field. repeat split; lra.
    - assert (0 < total / T) by now apply Rdiv_lt_0_compat. lra.
  Qed.

  (** Where the cells cut the integers, each integer comes in proportion to its weight. *)
  Theorem blocks_exact total c0 i0 : 0 < total -> sums (fun c => over c (fun _ => 1)) total ->
    (N.of_nat i0 < size c0)%N ->
    (forall c i, (N.of_nat i < size c)%N -> place c (N.of_nat i) = place c0 (N.of_nat i0) -> c = c0 /\ i = i0) ->
    let z := place c0 (N.of_nat i0) in
    Ev block_sampler (is_z z) (weight z / total).
  Proof.
    intros pos htotal inside only z.
    apply ev_blocks; [apply test_is_z|exact pos|exact htotal|].
    eapply sums_ext; [|apply (sums_single c0 (weight z))].
    intros c. cbn beta. unfold over. destruct (Nat.eqb_spec c c0) as [->|other].
    - rewrite (sum_ext _ _ (fun i => if (i =? i0)%nat then weight z else 0)).
      + symmetry. apply sum_single. lia.
      + intros i less. unfold is_z. destruct (Nat.eqb_spec i i0) as [->|different].
        * fold z. rewrite Z.eqb_refl. ring.
        * destruct (Z.eqb_spec (place c0 (N.of_nat i)) z) as [same|_]; [|ring].
          exfalso. apply different. apply (only c0 i); [lia|exact same].
    - rewrite (sum_ext _ _ (fun _ => 0)); [now rewrite sum_zero|].
      intros i less. unfold is_z. destruct (Z.eqb_spec (place c (N.of_nat i)) z) as [same|_]; [|ring].
      exfalso. apply other. apply (only c i); [lia|exact same].
  Qed.
End Blocks.
