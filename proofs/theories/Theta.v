(** Among all shifts of a Gaussian grid, the centred one has the largest sum: Σ_z e^{−b(z−c)²} ≤ Σ_z e^{−bz²} for every
    real c.

    [CKS20] (fact 18) take this from Poisson's summation formula. Here is a proof without it. With G(c) the sum for b
    and H(c) the one for 2b, the parallelogram law and the parity of z + w give
      G(c)² ≤ H(c)·H(0) + H(c−½)·H(−½)   and   H(c)² + H(c−½)² ≤ G(2c)·G(0).
    By Cauchy and Schwarz G(c)⁴ ≤ G(2c)·G(0)³: with r = G(c)/G(0), r(c)⁴ ≤ r(2c). As r is bounded, r(c) ≤ 1. *)

From Coq Require Import Reals Lra Lia List Arith ZArith FinFun.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Geometric Laplace Lists.
Import ListNotations.
Open Scope R_scope.

(** e^{−b x²} *)
Definition bell (b x : R) : R := exp (- (b * (x * x))).

Lemma bell_pos b x : 0 < bell b x.
Proof. apply exp_pos. Qed.

Lemma exp_mono a b : a <= b -> exp a <= exp b.
Proof. intros [lt| ->]; [left; now apply exp_increasing|lra]. Qed.

(** A Gaussian is below a Laplace law, up to a factor. *)
Lemma bell_dominated b c z : 0 < b ->
  bell b (IZR z - c) <= exp (b * (1 + Rabs c)) * exp (- b) ^ Z.abs_nat z.
Proof.
  intros pos. rewrite exp_pow, <- exp_plus. apply exp_mono.
  assert (size : INR (Z.abs_nat z) = Rabs (IZR z)) by (rewrite INR_IZR_INZ, <- abs_IZR; f_equal; lia).
  rewrite size. set (x := IZR z - c).
  assert (Rabs (IZR z) <= Rabs x + Rabs c).
  { replace (IZR z) with (x + c) by (unfold x; ring). apply Rabs_triang. }
  assert (Rabs x <= 1 + x * x).
  { unfold Rabs. destruct (Rcase_abs x); nra. }
  nra.
Qed.

Definition grid (b c : R) (z : Z) : R := bell b (IZR z - c).

Lemma grid_pos b c z : 0 <= grid b c z.
Proof. left. apply bell_pos. Qed.

(** Σ_z e^{−b(z−c)²} *)
Definition theta (b c : R) : R := real (Lim_seq (fun n => sum n (both (grid b c)))).

Lemma laplace_grid b c z : 0 < b ->
  let q := exp (- b) in
  0 <= grid b c z <= exp (b * (1 + Rabs c)) * ((1 + q) / (1 - q)) * laplace_mass q z.
Proof.
  intros pos q. split; [apply grid_pos|].
  assert (hq : 0 < q < 1) by now apply exp_minus_lt_1.
  eapply Rle_trans; [now apply bell_dominated|]. unfold laplace_mass. fold q. right. field. lra.
Qed.

Lemma theta_sums b c : 0 < b -> zsums (grid b c) (theta b c).
Proof.
  intros pos. assert (hq : 0 < exp (- b) < 1) by now apply exp_minus_lt_1.
  destruct (zsums_dominated (grid b c) _ _ (fun z => laplace_grid b c z pos)
    (zsums_scale _ _ _ (laplace_total _ hq))) as [v [hv _]].
  unfold theta, zsums, sums in *. now rewrite (is_lim_seq_unique _ _ hv).
Qed.

Lemma zsums_least f v u : zsums f v -> (forall l, NoDup l -> lsum f l <= u) -> v <= u.
Proof.
  intros h all. apply (is_lim_seq_le (fun n => sum n (both f)) (fun _ => u) v u); [|exact h|apply is_lim_seq_const].
  intros n. rewrite <- lsum_zrange. apply all, zrange_nodup.
Qed.

Lemma theta_above b c l : 0 < b -> NoDup l -> lsum (grid b c) l <= theta b c.
Proof. intros pos nodup. apply lsum_zsums; [apply grid_pos|now apply theta_sums|exact nodup]. Qed.

Lemma theta_pos b c : 0 < b -> 0 < theta b c.
Proof.
  intros pos. apply Rlt_le_trans with (lsum (grid b c) [0%Z]).
  - cbn. pose proof (bell_pos b (0 - c)). unfold grid. lra.
  - apply theta_above; [exact pos|]. repeat constructor; auto.
Qed.

Lemma theta_shift_le b c n : 0 < b -> theta b (c + IZR n) <= theta b c.
Proof.
  intros pos. apply (zsums_least (grid b (c + IZR n)) _ _ (theta_sums b _ pos)). intros l nodup.
  rewrite (lsum_ext _ (fun z => grid b c (z - n)%Z)).
  - rewrite <- (lsum_map (fun z => (z - n)%Z)). apply theta_above; [exact pos|].
    apply Injective_map_NoDup; [|exact nodup]. intros x y e. lia.
  - intros z _. unfold grid. f_equal. rewrite minus_IZR. ring.
Qed.

Lemma theta_bounded b : 0 < b -> exists m, forall c, theta b c <= m.
Proof.
  intros pos. assert (hq : 0 < exp (- b) < 1) by now apply exp_minus_lt_1.
  set (q := exp (- b)) in *.
  exists (exp (b * (1 + 1)) * ((1 + q) / (1 - q)) * 1). intros c.
  destruct (base_Int_part c) as [low high].
  set (r := c - IZR (Int_part c)).
  assert (near : 0 <= r <= 1) by (unfold r; lra).
  apply Rle_trans with (theta b r).
  - replace c with (r + IZR (Int_part c)) by (unfold r; ring). now apply theta_shift_le.
  - apply (zsums_least (grid b r) _ _ (theta_sums b r pos)). intros l nodup.
    apply Rle_trans with (lsum (fun z => exp (b * (1 + 1)) * ((1 + q) / (1 - q)) * laplace_mass q z) l).
    + apply lsum_le; intros z _. destruct (laplace_grid b r z pos) as [_ le]. fold q in le.
      eapply Rle_trans; [exact le|]. apply Rmult_le_compat_r; [left; now apply laplace_mass_pos|].
      apply Rmult_le_compat_r; [apply Rdiv_le_0_compat; lra|].
      apply exp_mono. rewrite Rabs_pos_eq; nra.
    + rewrite lsum_scale. apply Rmult_le_compat_l.
      * apply Rmult_le_pos; [left; apply exp_pos|apply Rdiv_le_0_compat; lra].
      * apply lsum_zsums; [intros z; left; now apply laplace_mass_pos|now apply laplace_total|exact nodup].
Qed.

(** ** Pairs, sorted by the parity of their sum *)

Definition pair_of (e : bool * (Z * Z)) : Z * Z :=
  let '(even, (k, j)) := e in ((k + j + if even then 0 else 1)%Z, (k - j)%Z).

Lemma pair_of_injective : Injective pair_of.
Proof.
  intros [x [k j]] [y [m n]] e. unfold pair_of in e. injection e as h1 h2.
  assert (x = y) by (destruct x, y; auto; lia). subst.
  assert (k = m /\ j = n) as [-> ->] by (destruct y; lia). reflexivity.
Qed.

Definition square (n : nat) : list (Z * Z) := list_prod (zrange n) (zrange n).
Definition two_squares (n : nat) : list (bool * (Z * Z)) := list_prod [true; false] (square n).

Lemma square_in n z w : In (z, w) (square n) <-> (Z.abs z < Z.of_nat n)%Z /\ (Z.abs w < Z.of_nat n)%Z.
Proof. unfold square. rewrite in_prod_iff, !zrange_in. reflexivity. Qed.

Lemma square_nodup n : NoDup (square n).
Proof. apply nodup_product; apply zrange_nodup. Qed.

Lemma two_squares_nodup n : NoDup (two_squares n).
Proof.
  apply nodup_product; [|apply square_nodup].
  constructor; [intros [h|[]]; discriminate|]. constructor; [intros []|constructor].
Qed.

Lemma square_covered n : incl (square n) (map pair_of (two_squares (2 * n))).
Proof.
  intros [z w] h. apply square_in in h as [hz hw]. apply in_map_iff.
  destruct (Z.Even_or_Odd (z + w)) as [[k hk]|[k hk]].
  - exists (true, (k, k - w))%Z. split; [cbn; f_equal; lia|].
    apply in_prod_iff. split; [cbn; auto|]. apply square_in. lia.
  - exists (false, (k, k - w))%Z. split; [cbn; f_equal; lia|].
    apply in_prod_iff. split; [cbn; auto|]. apply square_in. lia.
Qed.

Lemma two_squares_covered n : incl (map pair_of (two_squares n)) (square (2 * n + 1)).
Proof.
  intros [z w] h. apply in_map_iff in h as [[e [k j]] [same h]]. cbn in same. injection same as hz hw.
  apply in_prod_iff in h as [_ h]. apply square_in in h. apply square_in. destruct e; lia.
Qed.

Lemma square_product f g n :
  lsum (fun p : Z * Z => f (fst p) * g (snd p)) (square n) = lsum f (zrange n) * lsum g (zrange n).
Proof.
  unfold square. rewrite lsum_product. cbn [fst snd].
  rewrite (lsum_ext _ (fun z => lsum g (zrange n) * f z)).
  - rewrite lsum_scale. ring.
  - intros z _. rewrite lsum_scale. ring.
Qed.

Lemma two_squares_sum (f : bool -> Z * Z -> R) n :
  lsum (fun e : bool * (Z * Z) => f (fst e) (snd e)) (two_squares n)
    = lsum (f true) (square n) + lsum (f false) (square n).
Proof.
  unfold two_squares. rewrite lsum_product.
  change (lsum (f true) (square n) + (lsum (f false) (square n) + 0)
    = lsum (f true) (square n) + lsum (f false) (square n)). ring.
Qed.

Section Inequalities.
  Variable b : R.
  Hypothesis pos : 0 < b.
  Let G := theta b.
  Let H := theta (2 * b).

  Let pos2 : 0 < 2 * b.
  Proof. lra. Qed.

  Lemma square_limit c : is_lim_seq (fun n => lsum (grid b c) (zrange n)) (theta b c).
  Proof.
    apply (is_lim_seq_ext (fun n => sum n (both (grid b c)))); [intros; now rewrite lsum_zrange|].
    now apply theta_sums.
  Qed.

  Lemma pairs_from c : G c * G c <= H c * H 0 + H (c - 1 / 2) * H (- (1 / 2)).
  Proof.
    set (bound := H c * H 0 + H (c - 1 / 2) * H (- (1 / 2))).
    apply (is_lim_seq_le (fun n => lsum (grid b c) (zrange n) * lsum (grid b c) (zrange n)) (fun _ => bound)
      (G c * G c) bound); [|apply is_lim_seq_mult'; apply square_limit|apply is_lim_seq_const].
    intros n. rewrite <- square_product.
    eapply Rle_trans; [apply lsum_incl with (m := map pair_of (two_squares (2 * n)))|].
    - intros [z w]. apply Rmult_le_pos; apply grid_pos.
    - apply square_nodup.
    - apply square_covered.
    - rewrite lsum_map.
      set (f := fun (even : bool) (p : Z * Z) =>
        if even then grid (2 * b) c (fst p) * grid (2 * b) 0 (snd p)
        else grid (2 * b) (c - 1 / 2) (fst p) * grid (2 * b) (- (1 / 2)) (snd p)).
      rewrite (lsum_ext _ (fun e => f (fst e) (snd e))).
      + rewrite two_squares_sum. unfold f. rewrite !square_product. unfold bound.
        apply Rplus_le_compat; (apply Rmult_le_compat; [apply lsum_pos; intros; apply grid_pos..| |]);
          apply theta_above; first [exact pos2|apply zrange_nodup].
      + intros [e [k j]] _. unfold f, grid, bell. cbn [fst snd pair_of].
        destruct e; rewrite <- !exp_plus; f_equal; rewrite !plus_IZR, minus_IZR; field.
  Qed.

  Lemma pairs_into c : H c * H c + H (c - 1 / 2) * H (c - 1 / 2) <= G (2 * c) * G 0.
  Proof.
    assert (limit : forall x, is_lim_seq (fun n => lsum (grid (2 * b) x) (zrange n)) (H x)).
    { intros x. apply (is_lim_seq_ext (fun n => sum n (both (grid (2 * b) x)))); [intros; now rewrite lsum_zrange|].
      now apply theta_sums. }
    set (bound := G (2 * c) * G 0).
    apply (is_lim_seq_le
      (fun n => lsum (grid (2 * b) c) (zrange n) * lsum (grid (2 * b) c) (zrange n)
        + lsum (grid (2 * b) (c - 1 / 2)) (zrange n) * lsum (grid (2 * b) (c - 1 / 2)) (zrange n)) (fun _ => bound)
      (H c * H c + H (c - 1 / 2) * H (c - 1 / 2)) bound);
      [|apply is_lim_seq_plus'; apply is_lim_seq_mult'; apply limit|apply is_lim_seq_const].
    intros n. rewrite <- !square_product.
    set (f := fun (even : bool) (p : Z * Z) =>
      if even then grid (2 * b) c (fst p) * grid (2 * b) c (snd p)
      else grid (2 * b) (c - 1 / 2) (fst p) * grid (2 * b) (c - 1 / 2) (snd p)).
    change (lsum (f true) (square n) + lsum (f false) (square n) <= bound).
    rewrite <- two_squares_sum.
    rewrite (lsum_ext _ (fun e => grid b (2 * c) (fst (pair_of e)) * grid b 0 (snd (pair_of e)))).
    - rewrite <- (lsum_map pair_of (fun p => grid b (2 * c) (fst p) * grid b 0 (snd p))).
      eapply Rle_trans; [apply lsum_incl with (m := square (2 * n + 1))|].
      + intros [z w]. apply Rmult_le_pos; apply grid_pos.
      + apply Injective_map_NoDup; [apply pair_of_injective|apply two_squares_nodup].
      + apply two_squares_covered.
      + rewrite square_product.
        apply Rmult_le_compat; try (apply lsum_pos; intros; apply grid_pos);
          apply theta_above; first [exact pos|apply zrange_nodup].
    - intros [e [k j]] _. unfold f, grid, bell. cbn [fst snd pair_of].
      destruct e; rewrite <- !exp_plus; f_equal; rewrite !plus_IZR, minus_IZR; field.
  Qed.

  Lemma fourth c : G c * G c * (G c * G c) <= G (2 * c) * G 0 * (G 0 * G 0).
  Proof.
    assert (h1 := pairs_from c). assert (h2 := pairs_into c). assert (h3 := pairs_into 0).
    replace (2 * 0) with 0 in h3 by ring. replace (0 - 1 / 2) with (- (1 / 2)) in h3 by field.
    assert (p1 : 0 < G c) by (apply theta_pos; exact pos).
    assert (p2 : forall x, 0 < H x) by (intros; apply theta_pos; exact pos2).
    set (x := H c) in *. set (y := H (c - 1 / 2)) in *. set (u := H 0) in *. set (v := H (- (1 / 2))) in *.
    assert (0 < x /\ 0 < y /\ 0 < u /\ 0 < v) as [hx [hy [hu hv]]] by (repeat split; apply p2).
    (* Cauchy and Schwarz *)
    assert (cs : (x * u + y * v) * (x * u + y * v) <= (x * x + y * y) * (u * u + v * v)).
    { pose proof (Rle_0_sqr (x * v - y * u)) as h. unfold Rsqr in h. nra. }
    apply Rle_trans with ((x * u + y * v) * (x * u + y * v)).
    - apply Rmult_le_compat; try exact h1; left; apply Rmult_lt_0_compat; exact p1.
    - eapply Rle_trans; [exact cs|]. apply Rmult_le_compat; [nra|nra|exact h2|exact h3].
  Qed.

  Theorem centred_is_largest c : G c <= G 0.
  Proof.
    assert (p0 : 0 < G 0) by (apply theta_pos; exact pos).
    set (r := fun x => G x / G 0).
    assert (rpos : forall x, 0 < r x) by (intros x; apply Rdiv_lt_0_compat; [apply theta_pos; exact pos|exact p0]).
    assert (next : forall x, r x * r x * (r x * r x) <= r (2 * x)).
    { intros x. assert (h := fourth x). unfold r.
      apply (Rmult_le_reg_r (G 0 * G 0 * (G 0 * G 0))); [repeat apply Rmult_lt_0_compat; exact p0|].
      replace (G x / G 0 * (G x / G 0) * (G x / G 0 * (G x / G 0)) * (G 0 * G 0 * (G 0 * G 0)))
        with (G x * G x * (G x * G x)) by (field; lra).
      replace (G (2 * x) / G 0 * (G 0 * G 0 * (G 0 * G 0))) with (G (2 * x) * G 0 * (G 0 * G 0)) by (field; lra).
      exact h. }
    destruct (theta_bounded b pos) as [m hm].
    assert (small : r c <= 1).
    { apply Rnot_lt_le. intros big. set (eta := r c - 1).
      assert (grow : forall n, 1 + INR n * eta <= r (2 ^ n * c)).
      { induction n as [|n IH].
        - cbn. rewrite Rmult_1_l. pose proof (rpos c). unfold eta. lra.
        - rewrite S_INR. cbn [pow]. rewrite Rmult_assoc. eapply Rle_trans; [|apply next].
          set (y := r (2 ^ n * c)) in *.
          assert (0 <= INR n) by apply pos_INR.
          assert (0 < eta) by (unfold eta; lra).
          assert (1 <= y) by nra.
          assert (y <= y * y) by nra.
          assert (y * y <= y * y * (y * y)) by nra.
          assert (n = O \/ 1 <= INR n) as [zero|one].
          { destruct n as [|k]; [now left|right]. rewrite S_INR. pose proof (pos_INR k). lra. }
          + assert (hy : y = r c) by (unfold y; rewrite zero; cbn; now rewrite Rmult_1_l).
            rewrite zero. unfold eta. cbn [INR]. lra.
          + assert (eta <= INR n * eta) by nra.
            assert (1 + 2 * (INR n * eta) <= y * y) by nra. lra. }
      destruct (archimed_cor1 (eta / (m / G 0)) ) as [k [hk kpos]].
      - apply Rdiv_lt_0_compat; [unfold eta; lra|].
        apply Rdiv_lt_0_compat; [|exact p0]. apply Rlt_le_trans with (G 0); [exact p0|apply hm].
      - assert (top : r (2 ^ k * c) <= m / G 0).
        { unfold r. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|apply hm]. }
        pose proof (grow k) as low.
        assert (0 < INR k) by (apply lt_0_INR; lia).
        assert (mpos : 0 < m / G 0).
        { apply Rdiv_lt_0_compat; [|exact p0]. apply Rlt_le_trans with (G 0); [exact p0|apply hm]. }
        assert (m / G 0 < INR k * eta); [|lra].
        apply (Rmult_lt_reg_r (/ INR k * / (m / G 0))).
        { apply Rmult_lt_0_compat; now apply Rinv_0_lt_compat. }
        replace (m / G 0 * (/ INR k * / (m / G 0))) with (/ INR k).
        + replace (INR k * eta * (/ INR k * / (m / G 0))) with (eta / (m / G 0)); [exact hk|].
          unfold Rdiv at 1. field. repeat split; try lra. intros z. unfold Rdiv in mpos. rewrite z in mpos. lra.
        + field. repeat split; try lra. intros z. unfold Rdiv in mpos. rewrite z in mpos. lra. }
    unfold r in small. apply (Rmult_le_compat_r (G 0)) in small; [|lra].
    replace (G c / G 0 * G 0) with (G c) in small by (field; lra). lra.
  Qed.
End Inequalities.
