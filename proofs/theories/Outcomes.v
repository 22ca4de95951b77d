(** Laws point by point: the mass of every single value determines every average. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Lists.
Import ListNotations.
Open Scope R_scope.

Section Outcomes.
  Context {A : Type} (dec : forall a b : A, {a = b} + {a <> b}).
  Implicit Types (t : tree A) (f p : A -> R).

  Definition is (x a : A) : R := if dec x a then 1 else 0.

  Lemma test_is x : test (is x).
  Proof. intros a. unfold is. destruct (dec x a); lra. Qed.

  (** [p x] is the probability of [x]. *)
  Definition law t p : Prop := forall x, Ev t (is x) (p x).

  Fixpoint outcomes (k : nat) t : list A :=
    match k with
    | O => []
    | S k =>
      match t with
      | Ret a => [a]
      | Flip c => outcomes k (c true) ++ outcomes k (c false)
      | Step t => outcomes k t
      end
    end.

  Lemma wp_on_outcomes k t f g : (forall a, In a (outcomes k t) -> f a = g a) -> wp k t f = wp k t g.
  Proof.
    revert t. induction k as [|k IH]; intros t same; [reflexivity|].
    destruct t as [a|c|t]; cbn in *; [apply same; now left| |now apply IH].
    rewrite (IH (c true)), (IH (c false)); [reflexivity|intros a h; apply same, in_or_app; auto..].
  Qed.

  Lemma wp_lsum k t (F : A -> A -> R) l : wp k t (fun a => lsum (fun x => F x a) l) = lsum (fun x => wp k t (F x)) l.
  Proof.
    induction l as [|x l IH]; cbn; [apply wp_zero|].
    rewrite <- IH, (wp_ext k t _ (fun a => F x a + 1 * lsum (fun x => F x a) l)) by (intros; lra).
    rewrite wp_linear. lra.
  Qed.

  Lemma pick f l a : NoDup l -> lsum (fun x => f x * is x a) l = if in_dec dec a l then f a else 0.
  Proof.
    induction l as [|x l IH]; intros nodup; cbn [lsum]; [now destruct (in_dec dec a [])|].
    inversion nodup as [|? ? fresh rest]; subst. rewrite IH by exact rest. unfold is.
    destruct (dec x a) as [->|other]; destruct (in_dec dec a l) as [h|h], (in_dec dec a (_ :: l)) as [k|k];
      cbn in k; try tauto; lra.
  Qed.

  Lemma wp_points k t f : wp k t f = lsum (fun x => f x * wp k t (is x)) (nodup dec (outcomes k t)).
  Proof.
    set (l := nodup dec (outcomes k t)).
    rewrite (wp_on_outcomes k t f (fun a => lsum (fun x => f x * is x a) l)).
    - rewrite (wp_lsum k t (fun x a => f x * is x a)). apply lsum_ext; intros x _.
      rewrite (wp_ext k t _ (fun a => 0 + f x * is x a)) by (intros; lra).
      rewrite wp_linear, wp_zero. lra.
    - intros a h. rewrite pick by apply NoDup_nodup.
      destruct (in_dec dec a l) as [_|out]; [reflexivity|].
      exfalso. apply out. unfold l. now apply nodup_In.
  Qed.

  Lemma law_pos t p x : law t p -> 0 <= p x <= 1.
  Proof. intros h. eapply ev_test; [|apply h]. apply test_is. Qed.

  (** Every finite part of an average is at most the average … *)
  Theorem law_below t p f v l : law t p -> test f -> Ev t f v -> NoDup l -> lsum (fun x => p x * f x) l <= v.
  Proof.
    intros hlaw unit_f hv nodup.
    assert (part : Ev t (fun a => lsum (fun x => f x * is x a) l) (lsum (fun x => p x * f x) l)).
    { clear nodup. induction l as [|x l IH]; cbn [lsum]; [apply ev_zero|].
      apply ev_plus; [|exact IH]. rewrite (Rmult_comm (p x)). apply ev_scale, hlaw. }
    apply (ev_le t _ f _ v) with (2 := part) (3 := hv). intros a. rewrite pick by exact nodup.
    destruct (in_dec dec a l); [lra|apply unit_f].
  Qed.

  (** … and nothing above all finite parts is less than the average. *)
  Theorem law_least t p f v b : law t p -> test f -> Ev t f v ->
    (forall l, NoDup l -> lsum (fun x => p x * f x) l <= b) -> v <= b.
  Proof.
    intros hlaw unit_f hv all. apply (ev_least t f v b hv). intros k.
    rewrite wp_points. eapply Rle_trans; [|apply (all (nodup dec (outcomes k t))), NoDup_nodup].
    apply lsum_le; intros x _. rewrite Rmult_comm. apply Rmult_le_compat_r; [apply unit_f|].
    apply (ev_above t (is x)); [apply test_is|apply hlaw].
  Qed.
End Outcomes.
