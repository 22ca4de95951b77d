(** What the averages mean: counting bit strings.

    [run k t w] reads the bits of [w] one after the other, for at most [k] steps. The average [wp k t f] is the sum of
    [f] over all bit strings of length [n ≥ k], each with mass 2^−n. So [Ev t f v] says of a stream of independent fair
    bits that [f] of what is returned has average [v]. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Scumble Require Import Tree Sums Lists.
Import ListNotations.
Open Scope R_scope.

Fixpoint run {A} (k : nat) (t : tree A) (w : list bool) : option (A * list bool) :=
  match k with
  | O => None
  | S k =>
    match t with
    | Ret a => Some (a, w)
    | Flip c => match w with [] => None | b :: w => run k (c b) w end
    | Step t => run k t w
    end
  end.

(** All strings of [n] bits. *)
Fixpoint words (n : nat) : list (list bool) :=
  match n with O => [[]] | S n => map (cons true) (words n) ++ map (cons false) (words n) end.

Lemma words_length n : INR (length (words n)) = 2 ^ n.
Proof.
  induction n as [|n IH]; [reflexivity|]. cbn [words pow].
  rewrite app_length, !map_length, plus_INR, IH. lra.
Qed.

Definition outcome {A} (f : A -> R) (o : option (A * list bool)) : R :=
  match o with Some (a, _) => f a | None => 0 end.

Theorem wp_counts {A} (k n : nat) (t : tree A) f :
  (k <= n)%nat -> lsum (fun w => outcome f (run k t w)) (words n) / 2 ^ n = wp k t f.
Proof.
  revert n t. induction k as [|k IH]; intros n t le.
  - cbn. rewrite lsum_zero. unfold Rdiv. ring.
  - assert (two : forall m, 2 ^ m <> 0) by (intros m; apply pow_nonzero; lra).
    destruct t as [a|c|t]; cbn [run wp].
    + cbn [outcome]. rewrite lsum_const, words_length. field. apply two.
    + destruct n as [|n]; [lia|]. cbn [words]. rewrite lsum_app, !lsum_map.
      rewrite <- (IH n (c true)), <- (IH n (c false)) by lia.
      cbn [pow]. field. apply two.
    + apply IH. lia.
Qed.

(** The law of what is returned, as a limit of counts of bit strings. *)
Theorem ev_counts {A} (t : tree A) f v :
  Ev t f v <-> is_lim_seq (fun k => lsum (fun w => outcome f (run k t w)) (words k) / 2 ^ k) v.
Proof.
  split; apply is_lim_seq_ext; intros k; [symmetry|]; now apply wp_counts.
Qed.

(** What is returned depends on the bits that were read, and on no others. *)
Theorem run_prefix {A} k (t : tree A) w a rest more :
  run k t w = Some (a, rest) -> run k t (w ++ more) = Some (a, rest ++ more).
Proof.
  revert t w. induction k as [|k IH]; intros t w; cbn; [discriminate|].
  destruct t as [b|c|t]; [intros e; injection e as -> ->; reflexivity| |apply IH].
  destruct w as [|b w]; [discriminate|]. apply IH.
Qed.

(** More steps change nothing. *)
Theorem run_more {A} k (t : tree A) w r : run k t w = Some r -> run (S k) t w = Some r.
Proof.
  revert t w. induction k as [|k IH]; intros t w h; [discriminate|].
  destruct t as [b|c|t]; [exact h| |exact (IH t w h)].
  destruct w as [|b w]; [discriminate|]. exact (IH (c b) w h).
Qed.
