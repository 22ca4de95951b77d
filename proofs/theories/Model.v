(** The integer samplers of [crates/core/src/noise], line by line: which bits they read, in which order, and what they
    make of them. [Extract.v] turns this file into OCaml, and [compare/] runs both on the same bits.

    The samplers are those of Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", 2020 [CKS20].
    Numbers are unbounded here; README.md says where the code's are not. *)

From Coq Require Import NArith ZArith Bool.
From Scumble Require Import Tree.
Open Scope N_scope.

(** ** uniform.rs *)

(** [next_bits count]: the first bit is the most significant. *)
Fixpoint read (count : nat) (acc : N) : tree N :=
  match count with
  | O => Ret acc
  | S count => Flip (fun bit : bool => read count (2 * acc + if bit then 1 else 0))
  end.

(** Digits of [width] bits, the least significant digit first, and then [rest] bits. *)
Fixpoint read_digits (width full rest : nat) : tree N :=
  match full with
  | O => read rest 0
  | S full => digit <- read width 0;; above <- read_digits width full rest;; Ret (digit + 2 ^ N.of_nat width * above)
  end.

Definition word_bits (length : nat) : tree N := read length 0.

(** [random_bits] *)
Definition big_bits (length : nat) : tree N := read_digits 32 (Nat.div length 32) (Nat.modulo length 32).

Definition below (draw : nat -> tree N) (bound : N) : tree N :=
  if bound =? 0 then Ret 0
  else repeat (drawn <- draw (N.size_nat (bound - 1));; Ret (if drawn <? bound then Some drawn else None)).

(** [impl UniformBound for u64], and the one for [&BigUint]. *)
Definition below_u64 : N -> tree N := below word_bits.
Definition below_big : N -> tree N := below big_bits.

(** ** bernoulli.rs *)

Definition fits_u64 (n : N) : bool := n <? 2 ^ 64.

Definition is_below (numerator denominator : N) : tree bool :=
  let draw := if fits_u64 numerator && fits_u64 denominator then below_u64 else below_big in
  drawn <- draw denominator;; Ret (drawn <? numerator).

(** Another round at the next place, or the answer: whether this place is odd. *)
Definition onward (place : N) (again : bool) : N + bool := if again then inl (place + 1) else inr (N.odd place).

Definition exp_minus_one : tree bool :=
  iter (fun place : N => drawn <- below_u64 place;; Ret (onward place (drawn =? 0))) 1.

Definition exp_minus_up_to_one_u64 (numerator denominator : N) : tree bool :=
  iter
    (fun place : N =>
      coin <- below_u64 denominator;;
      if coin <? numerator
      then die <- below_u64 place;; Ret (onward place (die =? 0))
      else Ret (onward place false))
    1.

Definition exp_minus_up_to_one (numerator denominator : N) : tree bool :=
  if fits_u64 numerator && fits_u64 denominator
  then exp_minus_up_to_one_u64 numerator denominator
  else iter (fun place : N => coin <- is_below numerator (denominator * place);; Ret (onward place coin)) 1.

(** [exp_minus_ratio] *)
Definition exp_minus (numerator denominator : N) : tree bool :=
  if numerator <=? denominator
  then exp_minus_up_to_one numerator denominator
  else
    iter
      (fun whole : N =>
        if whole =? 0
        then last <- exp_minus_up_to_one (numerator mod denominator) denominator;; Ret (inr last)
        else coin <- exp_minus_one;; Ret (if coin then inl (whole - 1) else inr false))
      (numerator / denominator).

Definition run_of_exp_minus_one : tree N :=
  iter (fun run : N => coin <- exp_minus_one;; Ret (if coin then inl (run + 1) else inr run)) 0.

(** True with probability 1/(1 + e^−(numerator/denominator)). *)
Definition logistic (numerator denominator : N) : tree bool :=
  repeat
    (Flip (fun bit : bool =>
      if bit then Ret (Some true)
      else coin <- exp_minus numerator denominator;; Ret (if coin then Some false else None))).

(** ** mechanism/randomized_response.rs: [draw_again], among [values] answers with ε = numerator/denominator *)

Definition randomized_response (values numerator denominator truth : N) : tree N :=
  repeat
    (answer <- below_u64 values;;
     if answer =? truth then Ret (Some answer)
     else coin <- exp_minus numerator denominator;; Ret (if coin then Some answer else None)).

(** ** geometric.rs: P[n] ∝ e^{−n·t/s}, for the scale s/t *)

Definition geometric_remainder (s : N) : tree N :=
  repeat (candidate <- below_big s;; coin <- exp_minus candidate s;; Ret (if coin then Some candidate else None)).

Definition geometric (s t : N) : tree N :=
  remainder <- geometric_remainder s;; run <- run_of_exp_minus_one;; Ret ((remainder + s * run) / t).

(** ** discrete_laplace.rs: P[z] ∝ e^{−|z|·t/s} *)

Definition discrete_laplace (s t : N) : tree Z :=
  repeat
    (Flip (fun negative : bool =>
      magnitude <- geometric s t;;
      Ret (if negative then if magnitude =? 0 then None else Some (- Z.of_N magnitude)%Z
           else Some (Z.of_N magnitude)))).

(** ** discrete_gaussian.rs: P[z] ∝ e^{−z²/2σ²}, for σ = s/d *)

Definition discrete_gaussian (s d : N) : tree Z :=
  let t := s / d + 1 in
  let s_squared := s * s in
  let d_squared_t := d * d * t in
  let denominator := s_squared * d_squared_t * t * 2 in
  repeat
    (candidate <- discrete_laplace t 1;;
     let distance := Z.abs_N (Z.of_N (Z.abs_N candidate * d_squared_t) - Z.of_N s_squared) in
     kept <- exp_minus (distance * distance) denominator;;
     Ret (if kept then Some candidate else None)).
