(** The model as an OCaml program, for [compare/]. Numbers stay what they are here, lists of binary digits: nothing is
    replaced by OCaml's own, except for booleans, options, pairs and lists. *)

From Coq Require Import NArith ZArith.
From Coq Require Import Extraction ExtrOcamlBasic.
From Scumble Require Import Tree Model.

Extraction Language OCaml.
Extraction "model.ml" below_u64 below_big is_below exp_minus logistic randomized_response geometric discrete_laplace
  discrete_gaussian N.add N.mul Z.opp Z.of_N.
