(** zero-concentrated privacy, and the discrete Gaussian.

    Bun, Steinke, "Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds", 2016 [BS16],
    definition 1.1: D_α(P‖Q) ≤ ρα for every α > 1. As e^{(α−1)·D_α} = Σ_x P(x)^α Q(x)^{1−α}, that is a bound of this
    sum by e^{(α−1)αρ}, and of the sum over every finite set of values. *)

From Coq Require Import Reals Lra Lia List Arith NArith ZArith FinFun.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Model Uniform Geometric Laplace Gaussian Lists Outcomes Privacy Theta.
Import ListNotations.
Open Scope R_scope.

(** u^α v^{1−α}, and 0 where u is. *)
Definition power (alpha u v : R) : R :=
  if Rlt_dec 0 u then Rpower u alpha * Rpower v (1 - alpha) else 0.

Lemma Rpower_pos x y : 0 < Rpower x y.
Proof. apply exp_pos. Qed.

Lemma power_pos alpha u v : 0 <= power alpha u v.
Proof.
  unfold power. destruct (Rlt_dec 0 u); [|lra].
  left. apply Rmult_lt_0_compat; apply Rpower_pos.
Qed.

(** [p] is ρ-close to [q]. *)
Definition close {A} (rho : R) (p q : A -> R) : Prop :=
  (forall x, q x = 0 -> p x = 0) /\
  forall alpha, 1 < alpha -> forall l, NoDup l ->
    lsum (fun x => power alpha (p x) (q x)) l <= exp ((alpha - 1) * alpha * rho).

(** Of two samplers. *)
Definition zcdp {A} (dec : forall a b : A, {a = b} + {a <> b}) (rho : R) (t u : tree A) : Prop :=
  forall p q, law dec t p -> law dec u q -> close rho p q.

(** ** The Gaussian mechanism (additive.rs): [CKS20] theorem 4, ρ = reach²/2σ² *)

Definition gaussian_mechanism (s d : N) (x : Z) : tree Z := z <- discrete_gaussian s d;; Ret (x + z)%Z.

Lemma law_unique {A} (dec : forall a b : A, {a = b} + {a <> b}) t p q x : law dec t p -> law dec t q -> p x = q x.
Proof. intros hp hq. eapply ev_unique; [apply hp|apply hq]. Qed.

Section Gaussian.
  Variables s d : N.
  Hypotheses (hs : (0 < s)%N) (hd : (0 < d)%N).
  Let sigma := NR s / NR d.
  Let b := / (2 * (sigma * sigma)).

  Lemma sigma_pos : 0 < sigma.
  Proof. apply Rdiv_lt_0_compat; now apply NR_pos. Qed.

  Lemma b_pos : 0 < b.
  Proof. pose proof sigma_pos. apply Rinv_0_lt_compat. nra. Qed.

  Lemma weight_bell x : gaussian_weight sigma x = bell b x.
  Proof. unfold gaussian_weight, bell, b. f_equal. f_equal. unfold Rdiv. ring. Qed.

  Lemma gaussian_mechanism_law x :
    law Z.eq_dec (gaussian_mechanism s d x) (fun y => bell b (IZR y - IZR x) / theta b 0).
  Proof.
    destruct (gaussian_law s d hs hd) as [total [total_pos [htotal [points _]]]].
    assert (same : total = theta b 0).
    { eapply zsums_unique; [exact htotal|]. eapply zsums_ext; [|apply theta_sums, b_pos].
      intros z. fold sigma. rewrite weight_bell. unfold grid. f_equal. ring. }
    intros y. unfold gaussian_mechanism.
    apply ev_bind with (is_z (y - x)%Z); [apply test_is| |].
    - intros z. eapply ev_eq; [|apply ev_ret]. unfold is, is_z.
      destruct (Z.eq_dec y (x + z)), (Z.eqb_spec z (y - x)); try lia; reflexivity.
    - eapply ev_eq; [|apply points]. fold sigma. rewrite weight_bell, same, minus_IZR. reflexivity.
  Qed.

  Lemma power_bell alpha y x x' :
    power alpha (bell b (y - x) / theta b 0) (bell b (y - x') / theta b 0)
      = exp ((alpha - 1) * alpha * (b * ((x - x') * (x - x'))))
        * (/ theta b 0 * bell b (y - (alpha * x + (1 - alpha) * x'))).
  Proof.
    pose proof (theta_pos b 0 b_pos) as tpos. pose proof (bell_pos b (y - x)); pose proof (bell_pos b (y - x')).
    unfold power. destruct (Rlt_dec 0 (bell b (y - x) / theta b 0)) as [_|out].
    - unfold Rpower. rewrite !ln_div by assumption. unfold bell. rewrite !ln_exp, <- exp_plus.
      replace (/ theta b 0) with (exp (- ln (theta b 0))) by (rewrite exp_Ropp, exp_ln; [reflexivity|exact tpos]).
      rewrite <- !exp_plus. f_equal. ring.
    - exfalso. apply out. now apply Rdiv_lt_0_compat.
  Qed.

  Theorem gaussian_zcdp x x' (reach : nat) :
    (Z.abs (x - x') <= Z.of_nat reach)%Z ->
    zcdp Z.eq_dec (INR reach * INR reach / (2 * (sigma * sigma)))
      (gaussian_mechanism s d x) (gaussian_mechanism s d x').
  Proof.
    intros near p q hp hq.
    pose proof (theta_pos b 0 b_pos) as tpos.
    assert (same_p : forall y, p y = bell b (IZR y - IZR x) / theta b 0).
    { intros y. apply (law_unique Z.eq_dec _ _ _ y hp (gaussian_mechanism_law x)). }
    assert (same_q : forall y, q y = bell b (IZR y - IZR x') / theta b 0).
    { intros y. apply (law_unique Z.eq_dec _ _ _ y hq (gaussian_mechanism_law x')). }
    split.
    - intros y zero. exfalso. rewrite same_q in zero.
      assert (0 < bell b (IZR y - IZR x') / theta b 0) by (apply Rdiv_lt_0_compat; [apply bell_pos|exact tpos]). lra.
    - intros alpha big l nodup.
      set (c := alpha * IZR x + (1 - alpha) * IZR x').
      set (k := exp ((alpha - 1) * alpha * (b * ((IZR x - IZR x') * (IZR x - IZR x'))))).
      rewrite (lsum_ext _ (fun y => k * (/ theta b 0 * grid b c y))).
      + rewrite !lsum_scale.
        assert (part : lsum (grid b c) l <= theta b 0).
        { eapply Rle_trans; [apply theta_above; [apply b_pos|exact nodup]|]. apply centred_is_largest, b_pos. }
        apply Rle_trans with (k * 1).
        * apply Rmult_le_compat_l; [left; apply exp_pos|].
          apply (Rmult_le_reg_l (theta b 0)); [exact tpos|].
          rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l, Rmult_1_r; lra.
        * rewrite Rmult_1_r. apply exp_mono. apply Rmult_le_compat_l; [nra|].
          unfold Rdiv. fold b. rewrite Rmult_comm. apply Rmult_le_compat_r; [left; apply b_pos|].
          assert (dist : Rabs (IZR x - IZR x') <= INR reach).
          { rewrite <- minus_IZR, <- abs_IZR, INR_IZR_INZ. now apply IZR_le. }
          replace ((IZR x - IZR x') * (IZR x - IZR x')) with (Rabs (IZR x - IZR x') * Rabs (IZR x - IZR x')).
          -- apply Rmult_le_compat; try exact dist; apply Rabs_pos.
          -- rewrite <- Rabs_mult. apply Rabs_pos_eq. exact (Rle_0_sqr (IZR x - IZR x')).
      + intros y _. rewrite same_p, same_q. apply power_bell.
  Qed.
End Gaussian.

(** ** Composition ([BS16] lemma 1.7): the second mechanism may see what the first one gave *)

Definition paired {A B} (t : tree A) (g : A -> tree B) : tree (A * B) := a <- t;; y <- g a;; Ret (a, y).

Definition pair_dec {A B} (da : forall a b : A, {a = b} + {a <> b}) (db : forall a b : B, {a = b} + {a <> b}) :
  forall a b : A * B, {a = b} + {a <> b}.
Proof.
  intros [a x] [b y]. destruct (da a b) as [->|other]; [|right; congruence].
  destruct (db x y) as [->|other]; [now left|right; congruence].
Defined.

Lemma law_paired {A B} da db (t : tree A) (g : A -> tree B) p r :
  law da t p -> (forall a, law db (g a) (r a)) ->
  law (pair_dec da db) (paired t g) (fun x => p (fst x) * r (fst x) (snd x)).
Proof.
  intros ht hg [a0 b0]. cbn [fst snd]. unfold paired.
  apply ev_bind with (fun a => r a0 b0 * is da a0 a); [apply test_is| |rewrite Rmult_comm; apply ev_scale, ht].
  intros a. apply ev_bind with (fun y => is da a0 a * is db b0 y); [apply test_is| |].
  - intros y. eapply ev_eq; [|apply ev_ret]. unfold is.
    destruct (pair_dec da db (a0, b0) (a, y)) as [e|e], (da a0 a), (db b0 y); try congruence; ring.
  - destruct (da a0 a) as [<-|other].
    + rewrite Rmult_comm. apply ev_scale, hg.
    + assert (zero : is da a0 a = 0) by (unfold is; destruct (da a0 a); [congruence|reflexivity]).
      rewrite zero, Rmult_0_r. apply (ev_ext _ (fun _ => 0)); [|apply ev_zero]. intros y. ring.
Qed.

Lemma power_mul alpha u v x y : 0 <= u -> 0 <= x -> (v = 0 -> u = 0) -> (y = 0 -> x = 0) -> 0 <= v -> 0 <= y ->
  power alpha (u * x) (v * y) = power alpha u v * power alpha x y.
Proof.
  intros hu hx abs_u abs_x hv hy. unfold power.
  destruct (Rlt_dec 0 u) as [pu|nu].
  - destruct (Rlt_dec 0 x) as [px|nx].
    + destruct (Rlt_dec 0 (u * x)) as [_|out]; [|exfalso; apply out; nra].
      assert (v <> 0) by (intros z; apply abs_u in z; lra).
      assert (y <> 0) by (intros z; apply abs_x in z; lra).
      rewrite <- !Rpower_mult_distr by lra. ring.
    + assert (x = 0) by lra. subst. rewrite Rmult_0_r. destruct (Rlt_dec 0 0); [lra|ring].
  - assert (u = 0) by lra. subst. rewrite Rmult_0_l. destruct (Rlt_dec 0 0); [lra|ring].
Qed.

Lemma law_exists {A} dec (t : tree A) : law dec t (fun x => real (Lim_seq (fun k => wp k t (is dec x)))).
Proof. intros x. apply ev_real, test_is. Qed.

Theorem zcdp_composition {A B} da db rho1 rho2 (t u : tree A) (g h : A -> tree B) :
  zcdp da rho1 t u -> (forall a, zcdp db rho2 (g a) (h a)) ->
  zcdp (pair_dec da db) (rho1 + rho2) (paired t g) (paired u h).
Proof.
  intros first second p q hp hq.
  set (pt := fun x => real (Lim_seq (fun k => wp k t (is da x)))).
  set (pu := fun x => real (Lim_seq (fun k => wp k u (is da x)))).
  set (pg := fun a y => real (Lim_seq (fun k => wp k (g a) (is db y)))).
  set (ph := fun a y => real (Lim_seq (fun k => wp k (h a) (is db y)))).
  assert (ht : law da t pt) by apply law_exists. assert (hu : law da u pu) by apply law_exists.
  assert (hg : forall a, law db (g a) (pg a)) by (intros a; apply law_exists).
  assert (hh : forall a, law db (h a) (ph a)) by (intros a; apply law_exists).
  assert (same_p : forall x, p x = pt (fst x) * pg (fst x) (snd x)).
  { intros x. apply (law_unique _ _ _ _ x hp (law_paired da db t g pt pg ht hg)). }
  assert (same_q : forall x, q x = pu (fst x) * ph (fst x) (snd x)).
  { intros x. apply (law_unique _ _ _ _ x hq (law_paired da db u h pu ph hu hh)). }
  destruct (first pt pu ht hu) as [abs1 bound1].
  assert (close2 := fun a => second a (pg a) (ph a) (hg a) (hh a)).
  assert (pos_t : forall a, 0 <= pt a) by (intros a; apply (law_pos da t pt a ht)).
  assert (pos_u : forall a, 0 <= pu a) by (intros a; apply (law_pos da u pu a hu)).
  assert (pos_g : forall a y, 0 <= pg a y) by (intros a y; apply (law_pos db (g a) (pg a) y (hg a))).
  assert (pos_h : forall a y, 0 <= ph a y) by (intros a y; apply (law_pos db (h a) (ph a) y (hh a))).
  split.
  - intros [a y] zero. rewrite same_q in zero. rewrite same_p. cbn [fst snd] in *.
    apply Rmult_integral in zero as [zero|zero].
    + rewrite (abs1 a zero). ring.
    + destruct (close2 a) as [abs2 _]. rewrite (abs2 y zero). ring.
  - intros alpha big l uniq.
    set (la := nodup da (map fst l)). set (lb := nodup db (map snd l)).
    eapply Rle_trans; [apply lsum_incl with (m := list_prod la lb)|].
    + intros x. apply power_pos.
    + exact uniq.
    + intros [a y] inside. apply in_prod_iff. split; apply nodup_In.
      * apply (in_map fst _ _ inside).
      * apply (in_map snd _ _ inside).
    + rewrite lsum_product.
      rewrite (lsum_ext _ (fun a => power alpha (pt a) (pu a) * lsum (fun y => power alpha (pg a y) (ph a y)) lb)).
      * apply Rle_trans with (lsum (fun a => exp ((alpha - 1) * alpha * rho2) * power alpha (pt a) (pu a)) la).
        -- apply lsum_le; intros a _. rewrite Rmult_comm. apply Rmult_le_compat_r; [apply power_pos|].
           destruct (close2 a) as [_ bound2]. apply bound2; [exact big|apply NoDup_nodup].
        -- rewrite lsum_scale. replace ((alpha - 1) * alpha * (rho1 + rho2))
             with ((alpha - 1) * alpha * rho2 + (alpha - 1) * alpha * rho1) by ring.
           rewrite exp_plus. apply Rmult_le_compat_l; [left; apply exp_pos|].
           apply bound1; [exact big|apply NoDup_nodup].
      * intros a _. rewrite <- lsum_scale. apply lsum_ext; intros y _.
        rewrite same_p, same_q. cbn [fst snd]. destruct (close2 a) as [abs2 _].
        apply power_mul; auto.
Qed.

(** ** Post-processing ([BS16] lemma 1.8), by the convexity of u^α v^{1−α} *)

Lemma exp_tangent x y : exp x * (1 + (y - x)) <= exp y.
Proof.
  replace y with (x + (y - x)) at 2 by ring. rewrite exp_plus.
  apply Rmult_le_compat_l; [left; apply exp_pos|].
  destruct (Req_dec (y - x) 0) as [->|other]; [rewrite exp_0; lra|]. left. now apply exp_ineq1.
Qed.

(** s^α ≥ 1 + α(s − 1) *)
Lemma bernoulli_power alpha s : 1 < alpha -> 0 < s -> 1 + alpha * (s - 1) <= Rpower s alpha.
Proof.
  intros big pos. unfold Rpower. set (x := ln s).
  assert (hs : s = exp x) by (unfold x; now rewrite exp_ln). rewrite hs.
  (* e^x is at most the mixture of e^{αx} and 1 with weights 1/α and 1 − 1/α *)
  pose proof (exp_tangent x (alpha * x)) as h1. pose proof (exp_tangent x 0) as h2. rewrite exp_0 in h2.
  pose proof (exp_pos x). nra.
Qed.

(** Tangents of u^α v^{1−α} in the direction of [u0]/[v0]. *)
Lemma power_tangent alpha u v r : 1 < alpha -> 0 <= u -> 0 < v -> 0 < r ->
  Rpower r alpha * v + alpha * Rpower r (alpha - 1) * (u - r * v) <= power alpha u v.
Proof.
  intros big hu hv hr. unfold power. destruct (Rlt_dec 0 u) as [pu|nu].
  - assert (h := bernoulli_power alpha (u / (v * r)) big ltac:(apply Rdiv_lt_0_compat; nra)).
    assert (split1 : Rpower u alpha * Rpower v (1 - alpha) = Rpower r alpha * v * Rpower (u / (v * r)) alpha).
    { unfold Rpower. rewrite ln_div, ln_mult by nra.
      replace v with (exp (ln v)) at 2 by (now rewrite exp_ln).
      rewrite <- !exp_plus. f_equal. ring. }
    assert (split2 : Rpower r alpha = Rpower r (alpha - 1) * r).
    { replace r with (Rpower r 1) at 3 by (now apply Rpower_1). rewrite <- Rpower_plus. f_equal. ring. }
    rewrite split1. pose proof (Rpower_pos r alpha). pose proof (Rpower_pos r (alpha - 1)).
    apply Rle_trans with (Rpower r alpha * v * (1 + alpha * (u / (v * r) - 1))).
    + right. rewrite split2. field. lra.
    + apply Rmult_le_compat_l; [nra|exact h].
  - assert (u = 0) by lra. subst.
    assert (split2 : Rpower r alpha = Rpower r (alpha - 1) * r).
    { replace r with (Rpower r 1) at 3 by (now apply Rpower_1). rewrite <- Rpower_plus. f_equal. ring. }
    rewrite split2. pose proof (Rpower_pos r (alpha - 1)).
    assert (0 < Rpower r (alpha - 1) * r * v) by (apply Rmult_lt_0_compat; [nra|exact hv]). nra.
Qed.

Lemma power_ratio alpha u v : 0 < u -> 0 < v -> power alpha u v = Rpower (u / v) alpha * v.
Proof.
  intros pu pv. unfold power. destruct (Rlt_dec 0 u) as [_|out]; [|contradiction].
  unfold Rpower. rewrite ln_div by assumption.
  transitivity (exp (alpha * (ln u - ln v)) * exp (ln v)); [|now rewrite exp_ln].
  rewrite <- !exp_plus. f_equal. ring.
Qed.

(** Sums are no farther apart than their terms. *)
Lemma power_lsum {A} alpha (u v : A -> R) l : 1 < alpha ->
  (forall a, 0 <= u a) -> (forall a, 0 <= v a) -> (forall a, v a = 0 -> u a = 0) ->
  power alpha (lsum u l) (lsum v l) <= lsum (fun a => power alpha (u a) (v a)) l.
Proof.
  intros big hu hv abs.
  assert (U : 0 <= lsum u l) by now apply lsum_pos. assert (V : 0 <= lsum v l) by now apply lsum_pos.
  destruct (Rlt_dec 0 (lsum u l)) as [pu|nu].
  - assert (pv : 0 < lsum v l).
    { destruct V as [V|V]; [exact V|exfalso].
      assert (zero : forall m, lsum v m = 0 -> lsum u m = 0).
      { induction m as [|a m IH]; cbn; intros z; [reflexivity|].
        pose proof (hv a). pose proof (lsum_pos v m hv). rewrite abs, IH by lra. ring. }
      rewrite (zero l) in pu by auto. lra. }
    set (r := lsum u l / lsum v l). assert (hr : 0 < r) by now apply Rdiv_lt_0_compat.
    apply Rle_trans with (lsum (fun a => (Rpower r alpha - alpha * Rpower r (alpha - 1) * r) * v a
      + alpha * Rpower r (alpha - 1) * u a) l).
    + rewrite lsum_plus, !lsum_scale.
      assert (back : alpha * Rpower r (alpha - 1) * r * lsum v l = alpha * Rpower r (alpha - 1) * lsum u l).
      { unfold r at 2. field. lra. }
      rewrite (power_ratio alpha (lsum u l) (lsum v l)) by assumption. fold r.
      lra.
    + apply lsum_le; intros a _. destruct (hv a) as [pv'|zero].
      * pose proof (power_tangent alpha (u a) (v a) r big (hu a) pv' hr). lra.
      * rewrite (abs a) by auto. rewrite <- zero, !Rmult_0_r, Rplus_0_l. apply power_pos.
  - unfold power at 1. destruct (Rlt_dec 0 (lsum u l)); [contradiction|]. apply lsum_pos; intros; apply power_pos.
Qed.

Lemma Rpower_le_l x y a : 0 < x <= y -> 0 <= a -> Rpower x a <= Rpower y a.
Proof.
  intros [px [le| ->]] pa; [|lra]. unfold Rpower. apply exp_mono. apply Rmult_le_compat_l; [exact pa|].
  left. now apply ln_increasing.
Qed.

(** Larger denominators make it smaller. *)
Lemma power_antitone alpha u v w : 1 < alpha -> 0 < v <= w -> power alpha u w <= power alpha u v.
Proof.
  intros big [pv [le| ->]]; [|lra]. unfold power. destruct (Rlt_dec 0 u); [|lra].
  apply Rmult_le_compat_l; [left; apply Rpower_pos|]. unfold Rpower. apply exp_mono.
  assert (ln v < ln w) by now apply ln_increasing. nra.
Qed.

Lemma power_monotone alpha u v w : 1 < alpha -> u <= v -> power alpha u w <= power alpha v w.
Proof.
  intros big le. unfold power at 1. destruct (Rlt_dec 0 u) as [pu|_]; [|apply power_pos].
  unfold power. destruct (Rlt_dec 0 v) as [_|out]; [|lra].
  apply Rmult_le_compat_r; [left; apply Rpower_pos|]. apply Rpower_le_l; lra.
Qed.

Lemma power_zero_mul alpha c u v : 0 <= c -> (v = 0 -> u = 0) -> 0 <= u -> 0 <= v ->
  power alpha (u * c) (v * c) = c * power alpha u v.
Proof.
  intros [pc|zc] abs hu hv.
  - unfold power. destruct (Rlt_dec 0 u) as [pu|nu].
    + destruct (Rlt_dec 0 (u * c)) as [_|out]; [|exfalso; apply out; nra].
      assert (v <> 0) by (intros z; apply abs in z; lra).
      rewrite <- !Rpower_mult_distr by lra.
      assert (one : Rpower c alpha * Rpower c (1 - alpha) = c).
      { rewrite <- Rpower_plus. replace (alpha + (1 - alpha)) with 1 by ring. now apply Rpower_1. }
      rewrite <- one at 3. ring.
    + assert (u = 0) by lra. subst. rewrite Rmult_0_l. destruct (Rlt_dec 0 0); [lra|ring].
  - subst. rewrite !Rmult_0_r, Rmult_0_l. unfold power. destruct (Rlt_dec 0 0); [lra|reflexivity].
Qed.

Lemma power_limit alpha (u : nat -> R) x v : 0 < x -> is_lim_seq u x ->
  is_lim_seq (fun k => power alpha (u k) v) (power alpha x v).
Proof.
  intros pos h.
  apply (is_lim_seq_ext_loc (fun k => Rpower (u k) alpha * Rpower v (1 - alpha))).
  - assert (eventually (fun k => 0 < u k)) as [m hm].
    { apply (h (fun y => 0 < y)). exists (mkposreal x pos). intros y close. unfold ball in close. cbn in close.
      unfold AbsRing_ball, abs, minus, plus, opp in close. cbn in close.
      apply Rabs_def2 in close. lra. }
    exists m. intros k le. unfold power. destruct (Rlt_dec 0 (u k)) as [_|out]; [reflexivity|].
    exfalso. apply out. now apply hm.
  - unfold power. destruct (Rlt_dec 0 x) as [_|out]; [|contradiction].
    apply is_lim_seq_mult'; [|apply is_lim_seq_const].
    apply (is_lim_seq_continuous (fun y => Rpower y alpha)); [|exact h].
    apply derivable_continuous_pt. exists (alpha * Rpower x (alpha - 1)).
    now apply derivable_pt_lim_power.
Qed.

Lemma lsum_limit {A} (F : nat -> A -> R) (f : A -> R) l :
  (forall a, is_lim_seq (fun k => F k a) (f a)) -> is_lim_seq (fun k => lsum (F k) l) (lsum f l).
Proof.
  intros each. induction l as [|a l IH]; cbn; [apply is_lim_seq_const|].
  apply is_lim_seq_plus'; [apply each|exact IH].
Qed.

Theorem zcdp_post_processing {A B} da db rho (t u : tree A) (g : A -> tree B) :
  zcdp da rho t u -> zcdp db rho (bind t g) (bind u g).
Proof.
  intros h p q hp hq.
  set (pt := fun x => real (Lim_seq (fun k => wp k t (is da x)))).
  set (pu := fun x => real (Lim_seq (fun k => wp k u (is da x)))).
  set (pg := fun y a => real (Lim_seq (fun k => wp k (g a) (is db y)))).
  assert (ht : law da t pt) by apply law_exists. assert (hu : law da u pu) by apply law_exists.
  assert (hg : forall a, law db (g a) (fun y => pg y a)) by (intros a; apply law_exists).
  destruct (h pt pu ht hu) as [abs bound].
  assert (pos_t : forall a, 0 <= pt a) by (intros a; apply (law_pos da t pt a ht)).
  assert (pos_u : forall a, 0 <= pu a) by (intros a; apply (law_pos da u pu a hu)).
  assert (unit_g : forall y, test (pg y)) by (intros y a; apply (law_pos db (g a) _ y (hg a))).
  assert (ep : forall y, Ev t (pg y) (p y)).
  { intros y. destruct (ev_exists t (pg y) (unit_g y)) as [v hv].
    assert (hb : Ev (bind t g) (is db y) v).
    { apply ev_bind with (pg y); [apply test_is|intros a; apply hg|exact hv]. }
    now rewrite (ev_unique _ _ _ _ (hp y) hb). }
  assert (eq : forall y, Ev u (pg y) (q y)).
  { intros y. destruct (ev_exists u (pg y) (unit_g y)) as [v hv].
    assert (hb : Ev (bind u g) (is db y) v).
    { apply ev_bind with (pg y); [apply test_is|intros a; apply hg|exact hv]. }
    now rewrite (ev_unique _ _ _ _ (hq y) hb). }
  assert (pos_q : forall y, 0 <= q y) by (intros y; apply (ev_test u (pg y) _ (unit_g y) (eq y))).
  assert (pos_p : forall y, 0 <= p y) by (intros y; apply (ev_test t (pg y) _ (unit_g y) (ep y))).
  (* finite parts *)
  assert (part_u : forall y l, NoDup l -> lsum (fun a => pu a * pg y a) l <= q y).
  { intros y l nodup. now apply (law_below da u pu (pg y) (q y) l hu (unit_g y) (eq y)). }
  assert (part_t : forall y l, NoDup l -> lsum (fun a => pt a * pg y a) l <= p y).
  { intros y l nodup. now apply (law_below da t pt (pg y) (p y) l ht (unit_g y) (ep y)). }
  assert (zero : forall y l, lsum (fun a => pu a * pg y a) l = 0 -> lsum (fun a => pt a * pg y a) l = 0).
  { intros y. induction l as [|a l IH]; cbn; intros z; [reflexivity|].
    pose proof (unit_g y a) as bg. pose proof (pos_u a) as bu.
    assert (0 <= lsum (fun a => pu a * pg y a) l).
    { apply lsum_pos; intros x. pose proof (unit_g y x); pose proof (pos_u x). nra. }
    assert (first : pu a * pg y a = 0) by nra. rewrite IH by nra.
    apply Rmult_integral in first as [first|first]; rewrite ?first; [rewrite (abs a first)|]; ring. }
  assert (abs' : forall y, q y = 0 -> p y = 0).
  { intros y z. apply Rle_antisym; [|apply pos_p].
    apply (law_least da t pt (pg y) (p y) 0 ht (unit_g y) (ep y)). intros l nodup.
    right. apply zero. apply Rle_antisym; [rewrite <- z; now apply part_u|].
    apply lsum_pos; intros x. pose proof (unit_g y x); pose proof (pos_u x). nra. }
  split; [exact abs'|].
  intros alpha big ys nodup_ys.
  set (bnd := exp ((alpha - 1) * alpha * rho)).
  (* for every finite list of values of the first stage *)
  assert (finite : forall l, NoDup l ->
    lsum (fun y => power alpha (lsum (fun a => pt a * pg y a) l) (q y)) ys <= bnd).
  { intros l nodup.
    apply Rle_trans with (lsum (fun y => lsum (fun a => pg y a * power alpha (pt a) (pu a)) l) ys).
    - apply lsum_le; intros y _.
      apply Rle_trans with (power alpha (lsum (fun a => pt a * pg y a) l) (lsum (fun a => pu a * pg y a) l)).
      + set (U := lsum (fun a => pt a * pg y a) l). set (V := lsum (fun a => pu a * pg y a) l).
        assert (V_pos : 0 <= V).
        { apply lsum_pos; intros x. pose proof (unit_g y x); pose proof (pos_u x). nra. }
        destruct V_pos as [V_pos|V_zero].
        * apply power_antitone; [exact big|]. split; [exact V_pos|now apply part_u].
        * assert (U = 0) by (apply zero; auto). rewrite H. unfold power. destruct (Rlt_dec 0 0); lra.
      + eapply Rle_trans; [apply power_lsum; [exact big|..]|].
        * intros a. pose proof (unit_g y a); pose proof (pos_t a). nra.
        * intros a. pose proof (unit_g y a); pose proof (pos_u a). nra.
        * intros a z. apply Rmult_integral in z as [z|z]; rewrite ?z; [rewrite (abs a z)|]; ring.
        * right. apply lsum_ext; intros a _. apply power_zero_mul; auto. apply unit_g.
    - rewrite lsum_swap.
      apply Rle_trans with (lsum (fun a => power alpha (pt a) (pu a)) l); [|now apply bound].
      apply lsum_le; intros a _.
      rewrite (lsum_ext _ (fun y => power alpha (pt a) (pu a) * pg y a)) by (intros; ring).
      rewrite lsum_scale. rewrite <- (Rmult_1_r (power alpha (pt a) (pu a))) at 2.
      apply Rmult_le_compat_l; [apply power_pos|].
      rewrite (lsum_ext _ (fun y => pg y a * 1)) by (intros; ring).
      destruct (ev_exists (g a) (fun _ => 1)) as [one hone]; [intros x; lra|].
      apply Rle_trans with one; [|apply (ev_test (g a) (fun _ => 1)); [intros x; lra|exact hone]].
      apply (law_below db (g a) (fun y => pg y a) (fun _ => 1) one ys (hg a)); [intros x; lra|exact hone|exact nodup_ys]. }
  (* and in the limit *)
  set (F := fun k y => power alpha (wp k t (pg y)) (q y)).
  apply (is_lim_seq_le (fun k => lsum (F k) ys) (fun _ => bnd) (lsum (fun y => power alpha (p y) (q y)) ys) bnd);
    [| |apply is_lim_seq_const].
  - intros k. eapply Rle_trans; [|apply (finite (nodup da (outcomes k t))), NoDup_nodup].
    apply lsum_le; intros y _. apply power_monotone; [exact big|].
    rewrite (wp_points da). apply lsum_le; intros a _. rewrite Rmult_comm.
    apply Rmult_le_compat_r; [apply unit_g|]. apply (ev_above t (is da a)); [apply test_is|apply ht].
  - apply lsum_limit. intros y. destruct (pos_p y) as [some|none].
    + now apply power_limit; [|apply ep].
    + apply (is_lim_seq_ext (fun _ => 0)).
      * intros k. unfold F, power. destruct (Rlt_dec 0 (wp k t (pg y))) as [more|_]; [|reflexivity].
        pose proof (ev_above t (pg y) (p y) k (fun a => proj1 (unit_g y a)) (ep y)). lra.
      * unfold power. destruct (Rlt_dec 0 (p y)); [lra|]. apply is_lim_seq_const.
Qed.
