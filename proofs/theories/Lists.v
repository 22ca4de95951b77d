(** Sums over lists, where the order does not matter and no value is counted twice. *)

From Coq Require Import Reals Lra Lia List Arith ZArith FinFun.
From Scumble Require Import Sums Laplace.
Import ListNotations.
Open Scope R_scope.

Fixpoint lsum {A} (f : A -> R) (l : list A) : R :=
  match l with [] => 0 | a :: l => f a + lsum f l end.

Section Lists.
  Context {A : Type}.
  Implicit Types (f g : A -> R) (l : list A).

  Lemma lsum_ext f g l : (forall a, In a l -> f a = g a) -> lsum f l = lsum g l.
  Proof. induction l as [|a l IH]; intros same; cbn; [reflexivity|]. rewrite same, IH; cbn in *; auto. Qed.

  Lemma lsum_le f g l : (forall a, In a l -> f a <= g a) -> lsum f l <= lsum g l.
  Proof.
    induction l as [|a l IH]; intros le; cbn; [lra|].
    apply Rplus_le_compat; [apply le; now left|]. apply IH; intros x h. apply le; now right.
  Qed.

  Lemma lsum_zero l : lsum (fun _ : A => 0) l = 0.
  Proof. induction l as [|a l IH]; cbn; lra. Qed.

  Lemma lsum_pos f l : (forall a, 0 <= f a) -> 0 <= lsum f l.
  Proof. intros pos. rewrite <- (lsum_zero l). apply lsum_le; auto. Qed.

  Lemma lsum_plus f g l : lsum (fun a => f a + g a) l = lsum f l + lsum g l.
  Proof. induction l as [|a l IH]; cbn; lra. Qed.

  Lemma lsum_scale c f l : lsum (fun a => c * f a) l = c * lsum f l.
  Proof. induction l as [|a l IH]; cbn; [lra|]. rewrite IH; lra. Qed.

  Lemma lsum_app f l m : lsum f (l ++ m) = lsum f l + lsum f m.
  Proof. induction l as [|a l IH]; cbn; lra. Qed.

  Lemma lsum_map {B} (h : B -> A) f (l : list B) : lsum f (map h l) = lsum (fun b => f (h b)) l.
  Proof. induction l as [|a l IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

  Lemma lsum_incl f l m : (forall a, 0 <= f a) -> NoDup l -> incl l m -> lsum f l <= lsum f m.
  Proof.
    intros pos. revert m. induction l as [|a l IH]; intros m nodup inc; cbn; [now apply lsum_pos|].
    inversion nodup as [|? ? fresh rest]; subst.
    destruct (in_split a m) as [m1 [m2 ->]]; [apply inc; now left|].
    assert (lsum f l <= lsum f (m1 ++ m2)).
    { apply IH; [exact rest|]. intros x h.
      assert (hx : In x (m1 ++ a :: m2)) by (apply inc; now right).
      apply in_app_or in hx. apply in_or_app.
      destruct hx as [hx|[->|hx]]; [now left|contradiction|now right]. }
    rewrite lsum_app in *. cbn. lra.
  Qed.

  Lemma lsum_const c l : lsum (fun _ => c) l = INR (length l) * c.
  Proof.
    induction l as [|a l IH]; [cbn; lra|]. cbn [lsum length]. rewrite IH, S_INR. lra.
  Qed.

  Lemma nodup_app l m : NoDup l -> NoDup m -> (forall a, In a l -> ~ In a m) -> NoDup (l ++ m).
  Proof.
    intros hl hm apart. induction hl as [|a l fresh _ IH]; cbn; [exact hm|].
    constructor.
    - intros h. apply in_app_or in h as [h|h]; [contradiction|]. apply (apart a); [now left|exact h].
    - apply IH. intros x h. apply apart. now right.
  Qed.
End Lists.

Lemma lsum_swap {A B} (f : A -> B -> R) l (m : list B) :
  lsum (fun a => lsum (f a) m) l = lsum (fun b => lsum (fun a => f a b) l) m.
Proof.
  induction l as [|a l IH]; cbn; [now rewrite lsum_zero|].
  now rewrite IH, <- lsum_plus.
Qed.

Lemma lsum_product {A B} (f : A * B -> R) (l : list A) (m : list B) :
  lsum f (list_prod l m) = lsum (fun a => lsum (fun b => f (a, b)) m) l.
Proof.
  induction l as [|a l IH]; cbn; [reflexivity|].
  rewrite lsum_app, lsum_map, IH. reflexivity.
Qed.

Lemma nodup_product {A B} (l : list A) (m : list B) : NoDup l -> NoDup m -> NoDup (list_prod l m).
Proof.
  intros hl hm. induction hl as [|a l fresh _ IH]; cbn; [constructor|].
  apply nodup_app; [|exact IH|].
  - apply FinFun.Injective_map_NoDup; [|exact hm]. intros x y e. now injection e.
  - intros [x y] h k. apply in_map_iff in h as [b [e _]]. injection e as -> ->.
    apply in_prod_iff in k. tauto.
Qed.

Lemma lsum_seq f n : lsum f (seq 0 n) = sum n f.
Proof.
  induction n as [|n IH]; [reflexivity|]. rewrite seq_S, lsum_app, IH. cbn. lra.
Qed.

(** The integers between −n and n, without the ends. *)
Fixpoint zrange (n : nat) : list Z :=
  match n with
  | O => []
  | S O => [0%Z]
  | S n => Z.of_nat n :: (- Z.of_nat n)%Z :: zrange n
  end.

Lemma zrange_in n z : In z (zrange n) <-> (Z.abs z < Z.of_nat n)%Z.
Proof.
  induction n as [|[|n] IH]; [cbn; lia|cbn; lia|].
  change (zrange (S (S n))) with (Z.of_nat (S n) :: (- Z.of_nat (S n))%Z :: zrange (S n)).
  cbn [In]. rewrite IH. lia.
Qed.

Lemma zrange_nodup n : NoDup (zrange n).
Proof.
  induction n as [|[|n] IH]; [constructor|repeat constructor; auto|].
  change (zrange (S (S n))) with (Z.of_nat (S n) :: (- Z.of_nat (S n))%Z :: zrange (S n)).
  constructor; [|constructor; [|exact IH]].
  - intros [h|h]; [lia|]. apply zrange_in in h. lia.
  - intros h. apply zrange_in in h. lia.
Qed.

Lemma lsum_zrange f n : lsum f (zrange n) = sum n (both f).
Proof.
  induction n as [|[|n] IH]; [reflexivity|cbn; lra|].
  change (zrange (S (S n))) with (Z.of_nat (S n) :: (- Z.of_nat (S n))%Z :: zrange (S n)).
  change (sum (S (S n)) (both f)) with (sum (S n) (both f) + (f (Z.of_nat (S n)) + f (- Z.of_nat (S n))%Z)).
  cbn [lsum]. rewrite IH. lra.
Qed.

(** Every finite list of integers is within a range. *)
Lemma zrange_enough (l : list Z) : exists n, incl l (zrange n).
Proof.
  induction l as [|z l [n h]]; [exists O; intros ? []|].
  exists (n + S (Z.abs_nat z))%nat. intros x [->|k]; apply zrange_in; [lia|].
  apply h, zrange_in in k. lia.
Qed.

Lemma lsum_zsums f v l : (forall z, 0 <= f z) -> zsums f v -> NoDup l -> lsum f l <= v.
Proof.
  intros pos h nodup. destruct (zrange_enough l) as [n inc].
  eapply Rle_trans; [apply lsum_incl; [exact pos|exact nodup|exact inc]|].
  rewrite lsum_zrange. apply (sums_above _ v n); [|exact h]. intros m. now apply both_pos.
Qed.
