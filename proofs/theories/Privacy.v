(** Privacy of samplers, and what keeps it.

    [indist epsilon delta t u]: no event, nor any mixture of events, is more than e^ε times as probable under [t] as
    under [u], except for δ. Dwork, McSherry, Nissim, Smith 2006; Dwork, Roth, "The Algorithmic Foundations of
    Differential Privacy", 2014 [DR14]. *)

From Coq Require Import Reals Lra Lia List Arith NArith ZArith.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Model Uniform Bernoulli Geometric Laplace Lists Outcomes.
Import ListNotations.
Open Scope R_scope.

Definition indist {A} (epsilon delta : R) (t u : tree A) : Prop :=
  forall f, test f -> forall v w, Ev t f v -> Ev u f w -> v <= exp epsilon * w + delta.

(** [DR14] proposition 2.1, for randomised post-processing of any kind. *)
Theorem post_processing {A B} epsilon delta (t u : tree A) (g : A -> tree B) :
  indist epsilon delta t u -> indist epsilon delta (bind t g) (bind u g).
Proof.
  intros h f unit_f v w hv hw.
  destruct (ev_bind_inv t g f unit_f) as [a [unit_a [inner_a same_a]]].
  destruct (ev_bind_inv u g f unit_f) as [b [unit_b [inner_b same_b]]].
  apply same_a in hv. apply same_b in hw.
  apply (h a unit_a v w hv). eapply ev_ext; [|exact hw].
  intros x. apply (ev_unique (g x) f); auto.
Qed.

(** [DR14] theorems 3.14 and B.1: the second mechanism may see what the first one gave. *)
Theorem composition {A B} e1 d1 e2 d2 (t u : tree A) (g h : A -> tree B) :
  0 <= d2 ->
  indist e1 d1 t u -> (forall a, indist e2 d2 (g a) (h a)) -> indist (e1 + e2) (d1 + d2) (bind t g) (bind u h).
Proof.
  intros pos first second f unit_f v w hv hw.
  destruct (ev_bind_inv t g f unit_f) as [a [unit_a [inner_a same_a]]].
  destruct (ev_bind_inv u h f unit_f) as [b [unit_b [inner_b same_b]]].
  apply same_a in hv. apply same_b in hw.
  set (m := fun x => Rmin 1 (exp e2 * b x)).
  assert (unit_m : test m).
  { intros x. unfold m. pose proof (exp_pos e2); pose proof (unit_b x).
    split; [apply Rmin_glb; [lra|nra]|apply Rmin_l]. }
  destruct (ev_exists t m unit_m) as [vm hvm]. destruct (ev_exists u m unit_m) as [wm hwm].
  destruct (ev_exists t (fun _ => 1)) as [one hone]; [intros x; lra|].
  assert (one <= 1) by (apply (ev_test t (fun _ => 1)); [intros x; lra|exact hone]).
  assert (v <= vm + d2 * one).
  { apply (ev_le t a (fun x => m x + d2 * 1) _ _) with (2 := hv); [|now apply ev_linear].
    intros x. assert (a x <= exp e2 * b x + d2) by (apply (second x f unit_f); auto).
    pose proof (unit_a x). unfold m, Rmin. destruct (Rle_dec 1 (exp e2 * b x)); lra. }
  assert (vm <= exp e1 * wm + d1) by now apply (first m unit_m).
  assert (wm <= exp e2 * w).
  { apply (ev_le u m (fun x => exp e2 * b x)) with (2 := hwm); [|now apply ev_scale].
    intros x. apply Rmin_r. }
  rewrite exp_plus. pose proof (exp_pos e1). nra.
Qed.

Theorem indist_weaken {A} e1 d1 e2 d2 (t u : tree A) : e1 <= e2 -> d1 <= d2 -> indist e1 d1 t u -> indist e2 d2 t u.
Proof.
  intros he hd h f unit_f v w hv hw. pose proof (h f unit_f v w hv hw).
  assert (0 <= w) by (apply (ev_test u f w unit_f hw)).
  assert (exp e1 <= exp e2) by (destruct he as [he| ->]; [left; now apply exp_increasing|lra]). nra.
Qed.

Theorem indist_refl {A} (t : tree A) : indist 0 0 t t.
Proof. intros f unit_f v w hv hw. rewrite (ev_unique _ _ _ _ hv hw), exp_0. lra. Qed.

(** [DR14] theorem 2.2: groups of neighbours. *)
Theorem group {A} e1 e2 (t u x : tree A) : indist e1 0 t u -> indist e2 0 u x -> indist (e1 + e2) 0 t x.
Proof.
  intros h1 h2 f unit_f v w hv hw. destruct (ev_exists u f unit_f) as [m hm].
  pose proof (h1 f unit_f v m hv hm). pose proof (h2 f unit_f m w hm hw).
  rewrite exp_plus. pose proof (exp_pos e1). nra.
Qed.

(** Pure privacy is a statement about single values. *)
Theorem pure_from_law {A} (dec : forall a b : A, {a = b} + {a <> b}) epsilon (t u : tree A) p q :
  law dec t p -> law dec u q -> (forall x, p x <= exp epsilon * q x) -> indist epsilon 0 t u.
Proof.
  intros ht hu le f unit_f v w hv hw. rewrite Rplus_0_r.
  apply (law_least dec t p f v) with (1 := ht) (2 := unit_f) (3 := hv). intros l nodup.
  apply Rle_trans with (exp epsilon * lsum (fun x => q x * f x) l).
  - rewrite <- lsum_scale. apply lsum_le; intros x _. pose proof (le x); pose proof (unit_f x). nra.
  - apply Rmult_le_compat_l; [left; apply exp_pos|]. now apply (law_below dec u q f w).
Qed.

(** ** The Laplace mechanism (additive.rs; [DR14] theorem 3.6, on the integers) *)

Definition laplace_mechanism (s t : N) (x : Z) : tree Z := z <- discrete_laplace s t;; Ret (x + z)%Z.

Lemma laplace_mechanism_law s t x : (0 < s)%N -> (0 < t)%N ->
  law Z.eq_dec (laplace_mechanism s t x) (fun y => laplace_mass (ratio_of s t) (y - x)).
Proof.
  intros hs ht y. unfold laplace_mechanism.
  apply ev_bind with (is_z (y - x)%Z); [apply test_is| |now apply laplace_law].
  intros z. eapply ev_eq; [|apply ev_ret]. unfold is, is_z.
  destruct (Z.eq_dec y (x + z)), (Z.eqb_spec z (y - x)); try lia; reflexivity.
Qed.

(** Numbers at most [reach] apart, with noise of scale s/t: ε = reach·t/s. *)
Theorem laplace_private s t x x' (reach : nat) :
  (0 < s)%N -> (0 < t)%N -> (Z.abs (x - x') <= Z.of_nat reach)%Z ->
  indist (INR reach * (NR t / NR s)) 0 (laplace_mechanism s t x) (laplace_mechanism s t x').
Proof.
  intros hs ht near. apply pure_from_law with (dec := Z.eq_dec)
    (p := fun y => laplace_mass (ratio_of s t) (y - x)) (q := fun y => laplace_mass (ratio_of s t) (y - x'));
    try now apply laplace_mechanism_law.
  intros y. pose proof (ratio_bounds s t hs ht) as bounds.
  unfold laplace_mass. rewrite <- Rmult_assoc, (Rmult_comm (exp _)), Rmult_assoc.
  apply Rmult_le_compat_l; [apply Rdiv_le_0_compat; lra|].
  unfold ratio_of. rewrite !exp_pow, <- exp_plus.
  set (r := NR t / NR s). assert (r_pos : 0 < r) by (apply Rdiv_lt_0_compat; apply lt_0_INR; lia).
  assert (INR (Z.abs_nat (y - x')) <= INR reach + INR (Z.abs_nat (y - x))).
  { rewrite <- plus_INR. apply le_INR. lia. }
  assert (le : INR (Z.abs_nat (y - x)) * - r <= INR reach * r + INR (Z.abs_nat (y - x')) * - r) by nra.
  destruct le as [lt|eq]; [left; now apply exp_increasing|rewrite eq; lra].
Qed.
