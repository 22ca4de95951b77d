(* Runs the extracted model on the bits that the Rust samplers have read, line by line as [recorded_bits] prints them.
   The model must read exactly these bits and give the same value; for a `?` it must ask for more. *)

open Model

exception Out_of_bits

(* The number that decimal digits denote. *)
let number =
  let rec positive n = if n = 1 then XH else if n land 1 = 0 then XO (positive (n / 2)) else XI (positive (n / 2)) in
  let small n = if n = 0 then N0 else Npos (positive n) in
  let known = Hashtbl.create 64 in
  fun digits ->
    match Hashtbl.find_opt known digits with
    | Some n -> n
    | None ->
      let n = ref N0 in
      String.iter
        (fun c ->
          if c < '0' || c > '9' then failwith ("not a number: " ^ digits);
          n := N.add (N.mul !n (small 10)) (small (Char.code c - Char.code '0')))
        digits;
      if Hashtbl.length known < 100_000 then Hashtbl.add known digits !n;
      !n

let integer digits =
  if digits.[0] = '-' then Z.opp (Z.of_N (number (String.sub digits 1 (String.length digits - 1))))
  else Z.of_N (number digits)

(* What the tree gives on these bits, and how many it reads. *)
let rec run tree bits place =
  match Lazy.force tree with
  | Ret a -> a, place
  | Step next -> run next bits place
  | Flip next ->
    if place >= String.length bits then raise Out_of_bits;
    run (next (bits.[place] = '1')) bits (place + 1)

type value = Number of n | Integer of z | Coin of bool

(* The sampler that these words name. Nothing of its tree is kept from one run to the next: what follows a bit is a
   function of it. *)
let sampler words =
  let n i = number (List.nth words i) in
  let map f tree = fun bits -> let a, used = run tree bits 0 in f a, used in
  let number_of x = Number x and integer_of x = Integer x and coin_of x = Coin x in
  match List.hd words with
  | "below-u64" -> map number_of (below_u64 (n 1))
  | "below-big" -> map number_of (below_big (n 1))
  | "coin" -> map coin_of (is_below (n 1) (n 2))
  | "exp-minus" -> map coin_of (exp_minus (n 1) (n 2))
  | "logistic" -> map coin_of (logistic (n 1) (n 2))
  | "response" -> map number_of (randomized_response (n 1) (n 2) (n 3) (n 4))
  | "geometric" -> map number_of (geometric (n 1) (n 2))
  | "laplace" -> map integer_of (discrete_laplace (n 1) (n 2))
  | "gaussian" -> map integer_of (discrete_gaussian (n 1) (n 2))
  | name -> failwith ("no sampler is called " ^ name)

let check said bits expected =
  match said bits with
  | value, used ->
    expected <> "?" && used = String.length bits
    && (match value with
       | Number x -> x = number expected
       | Integer x -> x = integer expected
       | Coin x -> (if x then "1" else "0") = expected)
  | exception Out_of_bits -> expected = "?"

let () =
  let lines = ref 0 and cut = ref 0 in
  let samplers = Hashtbl.create 16 in
  (try
     while true do
       let line = input_line stdin in
       let words = String.split_on_char ' ' line in
       let rec split = function
         | [ bits; value ] -> [], bits, value
         | word :: rest -> let words, bits, value = split rest in word :: words, bits, value
         | [] -> failwith ("not a line: " ^ line)
       in
       let words, bits, expected = split words in
       let bits = if bits = "-" then "" else bits in
       incr lines;
       if expected = "?" then incr cut;
       let said =
         match Hashtbl.find_opt samplers words with
         | Some said -> said
         | None ->
           let said = sampler words in
           Hashtbl.add samplers words said;
           said
       in
       if not (check said bits expected) then begin
         Printf.printf "DIFFERENT: %s\n" line;
         exit 1
       end
     done
   with End_of_file -> ());
  if !lines = 0 then (print_endline "nothing was compared"; exit 1);
  Printf.printf "equal: %d strings of bits, %d of them cut off, %d samplers and parameters\n" !lines !cut
    (Hashtbl.length samplers)
