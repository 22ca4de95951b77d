(** Programs that flip fair coins, and what they give on average.

    A sampler is a tree: it stops with a value, asks for a bit, or takes a step without a bit. Loops make it infinite,
    so it is coinductive. Its law is a limit of finite sums: [wp k t f] is the average of [f] over what [t] returns
    within [k] steps, and [Ev t f v] says that this converges to [v]. Nothing here is assumed of randomness: a fair bit
    is the average of two branches, and [Adequacy.v] says the same by counting bit strings. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

CoInductive tree (A : Type) : Type :=
| Ret (a : A)
| Flip (next : bool -> tree A)
| Step (next : tree A).
Arguments Ret {A} _.
Arguments Flip {A} _.
Arguments Step {A} _.

(** First [t], then what [g] makes of its value. *)
Definition bind {A B} (t : tree A) (g : A -> tree B) : tree B :=
  (cofix go t :=
    match t with
    | Ret a => g a
    | Flip c => Flip (fun b => go (c b))
    | Step t => Step (go t)
    end) t.

Notation "x <- t ;; u" := (bind t (fun x => u)) (at level 61, t at next level, right associativity).

(** A loop: [inl] goes round again, [inr] stops. *)
CoFixpoint iter {I A} (body : I -> tree (I + A)) (i : I) : tree A :=
  bind (body i) (fun r => match r with inl j => Step (iter body j) | inr a => Ret a end).

(** A loop without a state, until there is a value. *)
Definition repeat {A} (body : tree (option A)) : tree A :=
  iter (fun _ : unit => bind body (fun o => Ret (match o with Some a => inr a | None => inl tt end))) tt.

Definition unfolded {A} (t : tree A) : tree A :=
  match t with Ret a => Ret a | Flip c => Flip c | Step t => Step t end.

Lemma unfold_eq {A} (t : tree A) : t = unfolded t.
Proof. destruct t; reflexivity. Qed.

Lemma bind_ret {A B} (g : A -> tree B) a : bind (Ret a) g = g a.
Proof. rewrite (unfold_eq (bind (Ret a) g)). symmetry. apply (unfold_eq (g a)). Qed.

Lemma bind_flip {A B} (g : A -> tree B) c : bind (Flip c) g = Flip (fun b => bind (c b) g).
Proof. rewrite (unfold_eq (bind (Flip c) g)); reflexivity. Qed.

Lemma bind_step {A B} (g : A -> tree B) t : bind (Step t) g = Step (bind t g).
Proof. rewrite (unfold_eq (bind (Step t) g)); reflexivity. Qed.

Lemma iter_eq {I A} (body : I -> tree (I + A)) i :
  iter body i = bind (body i) (fun r => match r with inl j => Step (iter body j) | inr a => Ret a end).
Proof.
  rewrite (unfold_eq (iter body i)).
  rewrite (unfold_eq (bind (body i) _)).
  reflexivity.
Qed.

(** The average of [f] over the values that are returned within [k] steps. *)
Fixpoint wp {A} (k : nat) (t : tree A) (f : A -> R) : R :=
  match k with
  | O => 0
  | S k =>
    match t with
    | Ret a => f a
    | Flip c => (wp k (c true) f + wp k (c false) f) / 2
    | Step t => wp k t f
    end
  end.

(** [v] is the average of [f] over all that [t] returns. *)
Definition Ev {A} (t : tree A) (f : A -> R) (v : R) : Prop := is_lim_seq (fun k => wp k t f) v.

(** Functions into the unit interval: events and mixtures of events. *)
Definition test {A} (f : A -> R) : Prop := forall a, 0 <= f a <= 1.

Section Finite.
  Context {A : Type}.
  Implicit Types (t : tree A) (f g : A -> R).

  Lemma wp_ext k t f g : (forall a, f a = g a) -> wp k t f = wp k t g.
  Proof.
    intros same. revert t; induction k as [|k IH]; intros t; [reflexivity|].
    destruct t; cbn; rewrite ?same, ?IH; reflexivity.
  Qed.

  Lemma wp_le k t f g : (forall a, f a <= g a) -> wp k t f <= wp k t g.
  Proof.
    intros le. revert t; induction k as [|k IH]; intros t; cbn; [lra|].
    destruct t as [a|c|t]; [apply le| |apply IH].
    pose proof (IH (c true)); pose proof (IH (c false)); lra.
  Qed.

  Lemma wp_zero k t : wp k t (fun _ => 0) = 0.
  Proof.
    revert t; induction k as [|k IH]; intros t; [reflexivity|].
    destruct t; cbn; rewrite ?IH; lra.
  Qed.

  Lemma wp_one k t : wp k t (fun _ => 1) <= 1.
  Proof.
    revert t; induction k as [|k IH]; intros t; cbn; [lra|].
    destruct t as [a|c|t]; [lra| |apply IH].
    pose proof (IH (c true)); pose proof (IH (c false)); lra.
  Qed.

  Lemma wp_pos k t f : (forall a, 0 <= f a) -> 0 <= wp k t f.
  Proof. intros pos. rewrite <- (wp_zero k t). apply wp_le, pos. Qed.

  Lemma wp_test k t f : test f -> 0 <= wp k t f <= 1.
  Proof.
    intros unit_f; split; [apply wp_pos; apply unit_f|].
    eapply Rle_trans; [|apply (wp_one k t)]. apply wp_le, unit_f.
  Qed.

  Lemma wp_linear k t f g c : wp k t (fun a => f a + c * g a) = wp k t f + c * wp k t g.
  Proof.
    revert t; induction k as [|k IH]; intros t; cbn; [lra|].
    destruct t; rewrite ?IH; lra.
  Qed.

  Lemma wp_more k t f : (forall a, 0 <= f a) -> wp k t f <= wp (S k) t f.
  Proof.
    intros pos. revert t; induction k as [|k IH]; intros t.
    - cbn -[wp]. apply (wp_pos 1 t f pos).
    - destruct t as [a|c|t]; [cbn; lra| |apply IH].
      change ((wp k (c true) f + wp k (c false) f) / 2 <= (wp (S k) (c true) f + wp (S k) (c false) f) / 2).
      pose proof (IH (c true)); pose proof (IH (c false)); lra.
  Qed.

  Lemma wp_more_add j k t f : (forall a, 0 <= f a) -> wp k t f <= wp (j + k) t f.
  Proof.
    intros pos; induction j as [|j IH]; cbn [Nat.add]; [lra|].
    eapply Rle_trans; [exact IH|]. apply wp_more, pos.
  Qed.

  (** What converges for every value converges on average: a finite tree has finitely many. *)
  Lemma wp_limit k t (F : nat -> A -> R) f :
    (forall a, is_lim_seq (fun m => F m a) (f a)) -> is_lim_seq (fun m => wp k t (F m)) (wp k t f).
  Proof.
    intros each. revert t; induction k as [|k IH]; intros t; cbn; [apply is_lim_seq_const|].
    destruct t as [a|c|t]; [apply each| |apply IH].
    apply (is_lim_seq_ext (fun m => / 2 * (wp k (c true) (F m) + wp k (c false) (F m)))); [intros; lra|].
    replace ((wp k (c true) f + wp k (c false) f) / 2) with (/ 2 * (wp k (c true) f + wp k (c false) f)) by lra.
    apply (is_lim_seq_scal_l _ (/ 2) (wp k (c true) f + wp k (c false) f)).
    apply is_lim_seq_plus'; apply IH.
  Qed.
End Finite.

Lemma wp_bind_le {A B} k (t : tree A) (g : A -> tree B) f :
  (forall b, 0 <= f b) -> wp k (bind t g) f <= wp k t (fun a => wp k (g a) f).
Proof.
  intros pos. revert t; induction k as [|k IH]; intros t; [cbn; lra|].
  destruct t as [a|c|t].
  - rewrite bind_ret. cbn. lra.
  - rewrite bind_flip.
    change ((wp k (bind (c true) g) f + wp k (bind (c false) g) f) / 2
      <= (wp k (c true) (fun a => wp (S k) (g a) f) + wp k (c false) (fun a => wp (S k) (g a) f)) / 2).
    assert (each : forall b, wp k (bind (c b) g) f <= wp k (c b) (fun a => wp (S k) (g a) f)).
    { intros b. eapply Rle_trans; [apply IH|]. apply wp_le; intros a. apply wp_more, pos. }
    pose proof (each true); pose proof (each false); lra.
  - rewrite bind_step.
    change (wp k (bind t g) f <= wp k t (fun a => wp (S k) (g a) f)).
    eapply Rle_trans; [apply IH|]. apply wp_le; intros a. apply wp_more, pos.
Qed.

Lemma wp_bind_ge {A B} j k (t : tree A) (g : A -> tree B) f :
  (forall b, 0 <= f b) -> wp j t (fun a => wp k (g a) f) <= wp (j + k) (bind t g) f.
Proof.
  intros pos. revert t; induction j as [|j IH]; intros t; [cbn; apply wp_pos, pos|].
  destruct t as [a|c|t].
  - rewrite bind_ret. cbn [wp]. apply wp_more_add, pos.
  - rewrite bind_flip. cbn [wp Nat.add]. pose proof (IH (c true)); pose proof (IH (c false)); lra.
  - rewrite bind_step. cbn [wp Nat.add]. apply IH.
Qed.

(** ** Averages *)

Section Average.
  Context {A : Type}.
  Implicit Types (t : tree A) (f g : A -> R).

  Lemma ev_unique t f u v : Ev t f u -> Ev t f v -> u = v.
  Proof.
    intros hu hv. apply is_lim_seq_unique in hu. apply is_lim_seq_unique in hv.
    rewrite hu in hv. now injection hv.
  Qed.

  Lemma ev_exists t f : test f -> exists v, Ev t f v.
  Proof.
    intros unit_f. apply ex_finite_lim_seq_incr with 1.
    - intros k. apply wp_more, unit_f.
    - intros k. apply wp_test, unit_f.
  Qed.

  Lemma ev_above t f v k : (forall a, 0 <= f a) -> Ev t f v -> wp k t f <= v.
  Proof.
    intros pos h. apply (is_lim_seq_incr_compare (fun k => wp k t f)); [exact h|].
    intros m. apply wp_more, pos.
  Qed.

  Lemma ev_least t f v b : Ev t f v -> (forall k, wp k t f <= b) -> v <= b.
  Proof.
    intros h le.
    exact (is_lim_seq_le (fun k => wp k t f) (fun _ => b) v b le h (is_lim_seq_const b)).
  Qed.

  Lemma ev_test t f v : test f -> Ev t f v -> 0 <= v <= 1.
  Proof.
    intros unit_f h; split.
    - apply (is_lim_seq_le (fun _ => 0) (fun k => wp k t f) 0 v); [|apply is_lim_seq_const|exact h].
      intros k. apply wp_test, unit_f.
    - apply (ev_least t f v 1 h). intros k. apply wp_test, unit_f.
  Qed.

  Lemma ev_ext t f g v : (forall a, f a = g a) -> Ev t f v -> Ev t g v.
  Proof. intros same. apply is_lim_seq_ext. intros k. now apply wp_ext. Qed.

  Lemma ev_eq t f u v : u = v -> Ev t f u -> Ev t f v.
  Proof. now intros ->. Qed.

  Lemma ev_le t f g u v : (forall a, f a <= g a) -> Ev t f u -> Ev t g v -> u <= v.
  Proof.
    intros le hu hv. apply (is_lim_seq_le (fun k => wp k t f) (fun k => wp k t g) u v); auto.
    intros k. now apply wp_le.
  Qed.

  Lemma ev_linear t f g c u v : Ev t f u -> Ev t g v -> Ev t (fun a => f a + c * g a) (u + c * v).
  Proof.
    intros hu hv. apply is_lim_seq_ext with (fun k => wp k t f + c * wp k t g).
    - intros k. now rewrite wp_linear.
    - apply is_lim_seq_plus'; [exact hu|]. exact (is_lim_seq_scal_l _ c v hv).
  Qed.

  Lemma ev_zero t : Ev t (fun _ => 0) 0.
  Proof. apply (is_lim_seq_ext (fun _ => 0)); [|apply is_lim_seq_const]. intros k. now rewrite wp_zero. Qed.

  Lemma ev_scale t f c v : Ev t f v -> Ev t (fun a => c * f a) (c * v).
  Proof.
    intros h. eapply ev_ext; [|eapply ev_eq; [|apply (ev_linear t _ _ c _ _ (ev_zero t) h)]].
    - intros a; cbn; lra.
    - lra.
  Qed.

  Lemma ev_plus t f g u v : Ev t f u -> Ev t g v -> Ev t (fun a => f a + g a) (u + v).
  Proof.
    intros hu hv. eapply ev_ext; [|eapply ev_eq; [|apply (ev_linear t _ _ 1 _ _ hu hv)]].
    - intros a; cbn; lra.
    - lra.
  Qed.

  Lemma ev_ret a f : Ev (Ret a) f (f a).
  Proof. apply is_lim_seq_incr_1. apply is_lim_seq_const. Qed.

  Lemma ev_flip c f u v : Ev (c true) f u -> Ev (c false) f v -> Ev (Flip c) f ((u + v) / 2).
  Proof.
    intros hu hv. apply is_lim_seq_incr_1. cbn.
    apply (is_lim_seq_ext (fun k => / 2 * (wp k (c true) f + wp k (c false) f))); [intros; lra|].
    replace ((u + v) / 2) with (/ 2 * (u + v)) by lra.
    apply (is_lim_seq_scal_l _ (/ 2) (u + v)). now apply is_lim_seq_plus'.
  Qed.

  Lemma ev_step t f v : Ev t f v -> Ev (Step t) f v.
  Proof. intros h. apply is_lim_seq_incr_1. exact h. Qed.
End Average.

Theorem ev_bind {A B} (t : tree A) (g : A -> tree B) f h v :
  test f -> (forall a, Ev (g a) f (h a)) -> Ev t h v -> Ev (bind t g) f v.
Proof.
  intros unit_f inner outer.
  destruct (ev_exists (bind t g) f unit_f) as [w hw].
  assert (pos : forall b, 0 <= f b) by apply unit_f.
  assert (below : w <= v).
  { apply (is_lim_seq_le (fun k => wp k (bind t g) f) (fun k => wp k t h) w v); [|exact hw|exact outer].
    intros k. eapply Rle_trans; [apply wp_bind_le, pos|].
    apply wp_le; intros a. now apply ev_above. }
  assert (above : v <= w).
  { apply (ev_least t h v w outer). intros j.
    apply (is_lim_seq_le (fun k => wp j t (fun a => wp k (g a) f)) (fun _ => w) (wp j t h) w).
    - intros k. eapply Rle_trans; [apply wp_bind_ge, pos|]. now apply ev_above.
    - apply wp_limit. exact inner.
    - apply is_lim_seq_const. }
  now replace v with w by lra.
Qed.

(** The average after a bind is the average of averages. *)
Lemma ev_bind_inv {A B} (t : tree A) (g : A -> tree B) f :
  test f -> exists h, test h /\ (forall a, Ev (g a) f (h a)) /\ forall v, Ev (bind t g) f v <-> Ev t h v.
Proof.
  intros unit_f.
  exists (fun a => real (Lim_seq (fun k => wp k (g a) f))).
  assert (inner : forall a, Ev (g a) f (real (Lim_seq (fun k => wp k (g a) f)))).
  { intros a. destruct (ev_exists (g a) f unit_f) as [w hw]. unfold Ev in hw |- *.
    now rewrite (is_lim_seq_unique _ _ hw). }
  assert (unit_h : test (fun a => real (Lim_seq (fun k => wp k (g a) f)))).
  { intros a. eapply ev_test; [exact unit_f|]. apply inner. }
  repeat split; try apply unit_h; [exact inner| |].
  - intros hv. destruct (ev_exists t _ unit_h) as [w hw].
    pose proof (ev_bind t g f _ w unit_f inner hw) as hb.
    now rewrite (ev_unique _ _ _ _ hv hb).
  - intros hw. now apply ev_bind with (2 := inner).
Qed.

(** ** Loops *)

Definition round {I A} (h : I -> R) (f : A -> R) (r : I + A) : R :=
  match r with inl i => h i | inr a => f a end.

Lemma ev_iter_once {I A} (body : I -> tree (I + A)) f h i v :
  test f -> (forall j, Ev (iter body j) f (h j)) -> Ev (body i) (round h f) v -> Ev (iter body i) f v.
Proof.
  intros unit_f inner outer. rewrite iter_eq.
  apply ev_bind with (round h f); [exact unit_f| |exact outer].
  intros [j|a]; cbn; [now apply ev_step|apply ev_ret].
Qed.

(** [l n i] is the average over what is returned in at most [n] rounds; a loop's average is its limit. *)
Theorem ev_iter {I A} (body : I -> tree (I + A)) f (l : nat -> I -> R) i (v : R) :
  test f ->
  (forall i, l O i = 0) ->
  (forall n i, Ev (body i) (round (l n) f) (l (S n) i)) ->
  is_lim_seq (fun n => l n i) v ->
  Ev (iter body i) f v.
Proof.
  intros unit_f none more limit.
  assert (unit_l : forall n, test (l n)).
  { induction n as [|n IH]; intros j; [rewrite none; lra|].
    eapply ev_test; [|apply more]. intros [k|a]; cbn; [apply IH|apply unit_f]. }
  assert (pos : forall a, 0 <= f a) by apply unit_f.
  assert (above : forall n i u, Ev (iter body i) f u -> l n i <= u).
  { induction n as [|n IH]; intros j u hu; [rewrite none; now apply (ev_test (iter body j) f u unit_f)|].
    set (e := fun m => real (Lim_seq (fun k => wp k (iter body m) f))).
    assert (he : forall m, Ev (iter body m) f (e m)).
    { intros m. destruct (ev_exists (iter body m) f unit_f) as [x hx]. unfold e, Ev in *.
      now rewrite (is_lim_seq_unique _ _ hx). }
    assert (unit_r : test (round e f)).
    { intros [m|a]; cbn; [|apply unit_f]. eapply ev_test; [exact unit_f|apply he]. }
    destruct (ev_exists (body j) (round e f) unit_r) as [x hx].
    rewrite (ev_unique _ _ _ _ hu (ev_iter_once body f e j x unit_f he hx)).
    apply (ev_le (body j) (round (l n) f) (round e f)); [|apply more|exact hx].
    intros [m|a]; cbn; [|lra]. apply IH, he. }
  destruct (ev_exists (iter body i) f unit_f) as [w hw].
  assert (below : w <= v).
  { apply (is_lim_seq_le (fun k => wp k (iter body i) f) (fun k => l k i) w v); [|exact hw|exact limit].
    intros k; generalize i. induction k as [|k IH]; intros j; [cbn; rewrite none; lra|].
    rewrite iter_eq. eapply Rle_trans; [apply wp_bind_le, pos|].
    eapply Rle_trans with (wp (S k) (body j) (round (l k) f)).
    - apply wp_le; intros [m|a]; cbn -[wp]; [apply IH|cbn; lra].
    - apply (ev_above (body j) (round (l k) f)); [|apply more].
      intros [m|a]; cbn; [apply unit_l|apply pos]. }
  assert (v <= w).
  { apply (is_lim_seq_le (fun n => l n i) (fun _ => w) v w); [|exact limit|apply is_lim_seq_const].
    intros n. now apply above. }
  now replace v with w by lra.
Qed.

(** The averages over at most [n] rounds, whatever they are. *)
Fixpoint rounds {I A} (body : I -> tree (I + A)) (f : A -> R) (n : nat) (i : I) : R :=
  match n with
  | O => 0
  | S n => real (Lim_seq (fun k => wp k (body i) (round (rounds body f n) f)))
  end.

Lemma ev_real {A} (t : tree A) f : test f -> Ev t f (real (Lim_seq (fun k => wp k t f))).
Proof.
  intros unit_f. destruct (ev_exists t f unit_f) as [w hw]. unfold Ev in *.
  now rewrite (is_lim_seq_unique _ _ hw).
Qed.

Lemma test_round {I A} (h : I -> R) (f : A -> R) : test h -> test f -> test (round h f).
Proof. intros hh hf [i|a]; cbn; [apply hh|apply hf]. Qed.

Lemma test_rounds {I A} (body : I -> tree (I + A)) f n : test f -> test (rounds body f n).
Proof.
  intros unit_f. induction n as [|n IH]; intros i; cbn; [lra|].
  eapply ev_test; [|apply ev_real]; now apply test_round.
Qed.

Lemma rounds_S {I A} (body : I -> tree (I + A)) f n i v :
  test f -> Ev (body i) (round (rounds body f n) f) v -> rounds body f (S n) i = v.
Proof.
  intros unit_f h. eapply ev_unique; [|exact h]. cbn. apply ev_real, test_round; [|exact unit_f].
  now apply test_rounds.
Qed.

Theorem ev_rounds {I A} (body : I -> tree (I + A)) f i (v : R) :
  test f -> is_lim_seq (fun n => rounds body f n i) v -> Ev (iter body i) f v.
Proof.
  intros unit_f limit. apply ev_iter with (rounds body f); [exact unit_f|reflexivity| |exact limit].
  intros n j. cbn. apply ev_real, test_round; [|exact unit_f]. now apply test_rounds.
Qed.

Lemma ev_iter_next {I A} (body : I -> tree (I + A)) f i v :
  test f ->
  (forall h, test h -> (forall j, Ev (iter body j) f (h j)) -> Ev (body i) (round h f) v) ->
  Ev (iter body i) f v.
Proof.
  intros unit_f next.
  assert (he : forall j, Ev (iter body j) f (real (Lim_seq (fun k => wp k (iter body j) f)))).
  { intros j. now apply ev_real. }
  eapply ev_iter_once; [exact unit_f|exact he|]. apply next; [|exact he].
  intros j. now apply (ev_test (iter body j) f).
Qed.

Definition kept {A} (f : A -> R) (o : option A) : R := match o with Some a => f a | None => 0 end.
Definition missed {A} (o : option A) : R := match o with Some _ => 0 | None => 1 end.

(** Rejection: what is kept, given that something is. *)
Theorem ev_repeat {A} (body : tree (option A)) f a q :
  test f -> Ev body (kept f) a -> Ev body missed q -> q < 1 -> Ev (repeat body) f (a / (1 - q)).
Proof.
  intros unit_f ha hq small.
  assert (q_pos : 0 <= q).
  { apply (ev_test body missed q); [|exact hq]. intros [x|]; cbn; lra. }
  apply ev_iter with (l := fun n _ => a * ((1 - q ^ n) / (1 - q))); [exact unit_f| | |].
  - intros _; cbn. replace (1 - 1) with 0 by lra. unfold Rdiv; lra.
  - intros n _.
    apply ev_bind with (fun o => kept f o + (a * ((1 - q ^ n) / (1 - q))) * missed o).
    + intros [i|x]; cbn; [|apply unit_f].
      assert (0 <= a <= 1 - q).
      { split; [apply (ev_le body (fun _ => 0) (kept f)); [|apply ev_zero|exact ha]; intros [x|]; cbn; [apply unit_f|lra]|].
        assert (h : Ev body (fun o => kept f o + 1 * missed o) (a + 1 * q)) by now apply ev_linear.
        assert (a + 1 * q <= 1); [|lra].
        eapply ev_test; [|exact h]. intros [x|]; cbn; [destruct (unit_f x)|]; lra. }
      assert (0 <= q ^ n <= 1).
      { split; [now apply pow_le|]. rewrite <- (pow1 n). apply pow_incr; lra. }
      replace (a * ((1 - q ^ n) / (1 - q))) with (a / (1 - q) * (1 - q ^ n)) by (field; lra).
      assert (0 <= a / (1 - q)) by (apply Rdiv_le_0_compat; lra).
      assert (a / (1 - q) <= 1) by (apply (Rmult_le_reg_r (1 - q)); [lra|]; field_simplify; lra).
      split; [apply Rmult_le_pos; lra|].
      assert (a / (1 - q) * (1 - q ^ n) <= 1 * 1) by (apply Rmult_le_compat; lra). lra.
    + intros [x|].
      * eapply ev_eq; [|apply ev_ret]. cbn. lra.
      * eapply ev_eq; [|apply ev_ret]. cbn. lra.
    + eapply ev_eq; [|apply ev_linear; [exact ha|exact hq]]. cbn. field. lra.
  - unfold Rdiv.
    apply (is_lim_seq_scal_l _ a (/ (1 - q))).
    apply (is_lim_seq_ext (fun n => / (1 - q) * (1 - q ^ n))); [intros; lra|].
    replace (/ (1 - q)) with (/ (1 - q) * (1 - 0)) at 1 by lra.
    apply (is_lim_seq_scal_l _ _ (1 - 0)).
    apply is_lim_seq_minus'; [apply is_lim_seq_const|].
    apply is_lim_seq_geom. rewrite Rabs_pos_eq; lra.
Qed.

(** What comes out surely: mass that is left goes to zero. *)
Definition stops {A} (t : tree A) : Prop := Ev t (fun _ => 1) 1.
