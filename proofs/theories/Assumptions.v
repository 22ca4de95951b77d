(** What all theorems together stand on; [check] compares it with axioms.txt. *)

From Scumble Require Import Privacy Mechanisms Theta Renyi Blocks Adequacy Theorems.

Definition all_theorems :=
  (@meaning,
   @mass_left,
   @within_mass_left,
   @run_prefix,
   @run_more,
   @uniform_u64,
   @uniform_big,
   @bernoulli_rational,
   @bernoulli_exp_minus,
   @bernoulli_logistic,
   @geometric_noise,
   @laplace_noise,
   @gaussian_noise,
   @search_exact,
   @enclosed_coin,
   @scan_sound,
   @blocks_exact,
   @post_processing,
   @composition,
   @group,
   @laplace_is_private,
   @randomized_response_private,
   @exponential_mechanism_private,
   @exponential_mechanism_monotonic,
   @laplace_tail,
   @stable_delta,
   @stable_private,
   @centred_is_largest,
   @gaussian_is_zcdp,
   @zcdp_composition,
   @zcdp_post_processing).

Print Assumptions all_theorems.
