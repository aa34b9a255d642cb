(** Voters of a known randomizer: Theorem K1 of docs/known_randomizers.md, for two answers, checked by a machine.

What is checked: [N] voters vote 1 with probability [r b] for their true answer [b], independently given the true
answers; the votes of at most [C] colluders are added; the label is 1 with probability [f l] at [l] ones. True answers
and colluders' votes may be random, with any joint law of finitely many cases; in each case the change alters at most
[t] true answers, and no colluder's vote. Then the label is (epsilon', delta)-DP for every such law if and only if, for
each number of ones among the colluders' votes, the table f_k by the number of true answers 1 satisfies the constraints
of corners.v for non-private voters, whose corners are (0,0), (1,1), (1,0), (0,1). [K1_randomized_response] is the case
of randomized response.

What is not checked: several groups, votes of more than two classes, many labels (Theorem K2), the tables that the
program computes, and what must hold for the voters: that they randomize as stated, with new, secret randomness. *)

From Coq Require Import Reals List Permutation Lra Lia.
Require Import corners.
Import ListNotations.
Open Scope R_scope.

(** * One label of voters of a known randomizer *)

(** A voter of the true answer [b] votes 1 with probability [r b]; given all true answers, votes are independent.
    [truths] has the true answers of the voters that randomize as stated, [k] is the number of ones among the
    colluders' votes, and the label is 1 with this probability. *)
Definition label (r : bool -> R) (f : nat -> R) (k : nat) (truths : list bool) : R :=
  accept (fun l => f (k + l)%nat) (map r truths).

(** The table [f_k]: the same, by the number of true answers 1 among [N] voters. *)
Definition known (r : bool -> R) (f : nat -> R) (N k h : nat) : R :=
  label r f k (repeat true h ++ repeat false (N - h)).

Fixpoint changed (x y : list bool) : nat :=
  match x, y with
  | b :: x, c :: y => ((if Bool.eqb b c then 0 else 1) + changed x y)%nat
  | _, _ => 0%nat
  end.

(** True answers and colluders' votes may be random: a list of cases, each with its probability. The records that
    change alter at most [t] true answers in each case. *)
Record case := { weight : R; colluders : nat; before : list bool; after : list bool }.

Definition possible (C N t : nat) (cases : list case) : Prop :=
  total (map weight cases) = 1 /\
  Forall (fun c => 0 <= weight c /\ (colluders c <= C)%nat /\
    length (before c) = N /\ length (after c) = N /\ (changed (before c) (after c) <= t)%nat) cases.

Definition mean (x : case -> R) (cases : list case) : R := total (map (fun c => weight c * x c) cases).

Definition truths_private (r : bool -> R) (f : nat -> R) (C N t : nat) (a d : R) : Prop :=
  forall cases, possible C N t cases ->
    private_bit a d
      (mean (fun c => label r f (colluders c) (before c)) cases,
       mean (fun c => label r f (colluders c) (after c)) cases).

(** The corners of a voter without any privacy, besides (0,0) and (1,1). *)
Definition moving_sure : list (R * R) := [(1, 0); (0, 1)].

(** * The table at votes that are sure *)

Definition bit (b : bool) : R := if b then 1 else 0.

Lemma accept_bits : forall bits f, accept f (map bit bits) = f (ones bits).
Proof.
  induction bits as [| b bits IH]; intros f; simpl.
  - apply accept_nil.
  - rewrite accept_cons, !IH. destruct b; simpl; ring.
Qed.

Lemma sorted : forall bits, Permutation bits (repeat true (ones bits) ++ repeat false (length bits - ones bits)).
Proof.
  assert (L : forall bits, (ones bits <= length bits)%nat).
  { induction bits as [| [|] bits IH]; simpl; lia. }
  induction bits as [| [|] bits IH]; [simpl; auto | |].
  - simpl. apply perm_skip. exact IH.
  - change (ones (false :: bits)) with (ones bits). change (length (false :: bits)) with (S (length bits)).
    specialize (L bits). rewrite Nat.sub_succ_l by auto. simpl.
    eapply Permutation_trans; [apply perm_skip; exact IH | apply Permutation_middle].
Qed.

(** The label depends on the number of true answers alone. *)
Lemma label_is_known : forall r f k truths, label r f k truths = known r f (length truths) k (ones truths).
Proof.
  intros r f k truths. unfold known, label. apply accept_order, Permutation_map, sorted.
Qed.

Lemma ones_le : forall bits, (ones bits <= length bits)%nat.
Proof. induction bits as [| [|] bits IH]; simpl; lia. Qed.

(** Two lists of true answers are a multiset of sure pairs, and the other way round. *)
Definition pair_of (x y : list bool) : list (R * R) := combine (map bit x) (map bit y).

Lemma pair_sides : forall x y, length x = length y ->
  map fst (pair_of x y) = map bit x /\ map snd (pair_of x y) = map bit y.
Proof.
  unfold pair_of. induction x as [| b x IH]; intros [| c y] H; simpl in *; try discriminate; auto.
  destruct (IH y) as [H1 H2]; [lia |]. rewrite H1, H2. auto.
Qed.

Lemma pair_multiset : forall x y, length x = length y ->
  exists ns ms, length ns = length still /\ length ms = length moving_sure /\
    (list_sum ns + list_sum ms = length x)%nat /\ (list_sum ms <= changed x y)%nat /\
    Permutation (pair_of x y) (copies (ns ++ ms) (still ++ moving_sure)).
Proof.
  intros x y H.
  assert (G : exists mask, length mask = length x /\ affected mask = changed x y /\
    Forall2 (fun C c => In c C) (map (fun b : bool => if b then still ++ moving_sure else still) mask) (pair_of x y)).
  { revert y H. induction x as [| b x IH]; intros [| c y] H; simpl in *; try discriminate.
    - exists []. repeat split. constructor.
    - destruct (IH y) as (mask & L & A & F); [lia |].
      exists (negb (Bool.eqb b c) :: mask). unfold affected in *. simpl. repeat split; [lia | |].
      + destruct b, c; simpl; lia.
      + constructor; [| exact F]. destruct b, c; simpl; auto. }
  destruct G as (mask & L & A & F). rewrite <- L, <- A. apply multiset_of. exact F.
Qed.

Lemma multiset_pair : forall ns ms, length ns = length still -> length ms = length moving_sure ->
  exists x y, length x = (list_sum ns + list_sum ms)%nat /\ length y = length x /\
    (changed x y <= list_sum ms)%nat /\ copies (ns ++ ms) (still ++ moving_sure) = pair_of x y.
Proof.
  intros [| n0 [| n1 [|]]] [| m0 [| m1 [|]]] Hn Hm; try discriminate.
  exists (repeat false n0 ++ repeat true n1 ++ repeat true m0 ++ repeat false m1),
    (repeat false n0 ++ repeat true n1 ++ repeat false m0 ++ repeat true m1).
  assert (E : forall n b c z w, length z = length w ->
    changed (repeat b n ++ z) (repeat c n ++ w) = ((if Bool.eqb b c then 0 else n) + changed z w)%nat).
  { induction n as [| n IH]; intros b c z w H; simpl; [destruct (Bool.eqb b c); auto |].
    rewrite IH by auto. destruct (Bool.eqb b c); simpl; auto. }
  assert (P : forall n b c z w, pair_of (repeat b n ++ z) (repeat c n ++ w) =
    repeat (bit b, bit c) n ++ pair_of z w).
  { unfold pair_of. induction n as [| n IH]; intros b c z w; simpl; [auto |]. rewrite IH. auto. }
  repeat split.
  - rewrite !app_length, !repeat_length. simpl. lia.
  - rewrite !app_length, !repeat_length. lia.
  - rewrite !E by (rewrite ?app_length, ?repeat_length; auto).
    rewrite <- (app_nil_r (repeat false m1)), <- (app_nil_r (repeat true m1)), E by auto. simpl. lia.
  - rewrite !P. rewrite <- (app_nil_r (repeat false m1)), <- (app_nil_r (repeat true m1)), P.
    unfold pair_of. simpl. rewrite !app_nil_r. reflexivity.
Qed.

(** * Theorem K1 *)

Lemma known_range : forall r f C N k h, (forall b, 0 <= r b <= 1) ->
  (forall l, (l <= C + N)%nat -> 0 <= f l <= 1) -> (k <= C)%nat -> (h <= N)%nat -> 0 <= known r f N k h <= 1.
Proof.
  intros r f C N k h Hr Hf Hk Hh. unfold known, label. apply accept_range.
  - apply Forall_forall. intros p Hp. apply in_map_iff in Hp. destruct Hp as (b & <- & _). auto.
  - rewrite map_length, app_length, !repeat_length. intros l Hl. apply Hf. lia.
Qed.

(** A row of the table at sure pairs compares two entries of the table. *)
Lemma row_at : forall a g x y, length x = length y -> excess a g (pair_of x y) = g (ones x) - a * g (ones y).
Proof.
  intros a g x y H. unfold excess. destruct (pair_sides x y H) as [-> ->].
  rewrite !accept_bits. reflexivity.
Qed.

Lemma mean_below : forall a d cases x y, 0 <= d ->
  Forall (fun c => 0 <= weight c /\ x c <= a * y c + d) cases ->
  mean x cases <= a * mean y cases + d * total (map weight cases).
Proof.
  intros a d cases x y Hd H. unfold mean. induction H as [| c cases [Hw Hc] H IH]; simpl; [lra |].
  assert (weight c * x c <= weight c * (a * y c + d)) by (apply Rmult_le_compat_l; auto). lra.
Qed.

Lemma mean_minus : forall cases x, mean (fun c => 1 - x c) cases = total (map weight cases) - mean x cases.
Proof. intros cases x. unfold mean. induction cases as [| c cases IH]; simpl; [lra | rewrite IH; lra]. Qed.

Theorem K1 : forall r f C N t a d,
  (forall b, 0 <= r b <= 1) -> (forall l, (l <= C + N)%nat -> 0 <= f l <= 1) -> 1 <= a -> 0 <= d ->
  (truths_private r f C N t a d <->
   forall k, (k <= C)%nat ->
     rows_hold moving_sure N t a d (known r f N k) /\ rows_hold moving_sure N t a d (other (known r f N k))).
Proof.
  intros r f C N t a d Hr Hf Ha Hd. split.
  - intros H k Hk.
    assert (G : forall ns ms, length ns = length still -> length ms = length moving_sure ->
      (list_sum ns + list_sum ms = N)%nat -> (list_sum ms <= t)%nat ->
      exists x y, length x = N /\ length y = N /\ copies (ns ++ ms) (still ++ moving_sure) = pair_of x y /\
        private_bit a d (known r f N k (ones x), known r f N k (ones y))).
    { intros ns ms Hns Hms HN Ht.
      destruct (multiset_pair ns ms Hns Hms) as (x & y & Lx & Ly & Hc & E).
      exists x, y. repeat (split; [congruence |]).
      pose proof (H [{| weight := 1; colluders := k; before := x; after := y |}]) as P.
      unfold mean in P. simpl in P. rewrite !label_is_known, Ly, Lx, HN in P.
      rewrite !Rmult_1_l, !Rplus_0_r in P. apply P.
      split; simpl; [lra |]. constructor; [| constructor]. simpl. repeat split; lia || lra. }
    split; intros ns ms Hns Hms HN Ht; destruct (G ns ms Hns Hms HN Ht) as (x & y & Lx & Ly & -> & P);
      rewrite row_at by congruence; apply private_bit_is_region in P; auto; unfold other; unfold region in P; lra.
  - intros H cases [Hw Hc].
    assert (B : forall c, In c cases ->
      0 <= weight c /\ private_bit a d (label r f (colluders c) (before c), label r f (colluders c) (after c))).
    { intros c Hin. rewrite Forall_forall in Hc. destruct (Hc c Hin) as (W & K & L & L' & T). split; auto.
      rewrite !label_is_known, L, L'.
      assert (X : forall x y, length x = N -> length y = N -> (changed x y <= t)%nat ->
        known r f N (colluders c) (ones x) - a * known r f N (colluders c) (ones y) <= d /\
        (1 - known r f N (colluders c) (ones x)) - a * (1 - known r f N (colluders c) (ones y)) <= d).
      { intros x y Lx Ly Txy. destruct (pair_multiset x y) as (ns & ms & Hns & Hms & HN & Ht & P); [congruence |].
        destruct (H (colluders c) K) as [H1 H0].
        specialize (H1 ns ms Hns Hms). specialize (H0 ns ms Hns Hms).
        rewrite <- (excess_symmetric _ _ _ _ P), row_at in H1 by congruence.
        rewrite <- (excess_symmetric _ _ _ _ P), row_at in H0 by congruence.
        split; [apply H1 | apply H0]; lia. }
      assert (S : forall x y, length x = length y -> changed x y = changed y x).
      { induction x as [| b x IH]; intros [| e y] Hl; simpl in *; try discriminate; auto.
        rewrite IH by lia. destruct b, e; auto. }
      destruct (X (before c) (after c) L L' T).
      assert (T' : (changed (after c) (before c) <= t)%nat) by (rewrite S by congruence; auto).
      destruct (X (after c) (before c) L' L T').
      apply private_bit_is_region; auto.
      pose proof (ones_le (before c)). pose proof (ones_le (after c)).
      assert (0 <= known r f N (colluders c) (ones (before c)) <= 1) by (apply (known_range r f C); auto; lia).
      assert (0 <= known r f N (colluders c) (ones (after c)) <= 1) by (apply (known_range r f C); auto; lia).
      unfold region. lra. }
    apply private_bit_is_region; auto.
    assert (M : forall x y, (forall c, In c cases -> x c <= a * y c + d) -> mean x cases <= a * mean y cases + d).
    { intros x y Hxy. rewrite <- (Rmult_1_r d), <- Hw. apply mean_below; auto.
      apply Forall_forall. intros c Hin. split; [apply B; auto | auto]. }
    assert (Z : forall x, (forall c, In c cases -> 0 <= x c <= 1) -> 0 <= mean x cases <= 1).
    { intros x Hx. rewrite <- Hw. unfold mean.
      assert (W : forall c, In c cases -> 0 <= weight c) by (intros c Hin; apply B; auto).
      clear - Hx W. induction cases as [| c cases IH]; simpl; [lra |].
      assert (0 <= total (map (fun c => weight c * x c) cases) <= total (map weight cases))
        by (apply IH; intros; [apply Hx | apply W]; right; auto).
      pose proof (Hx c (or_introl eq_refl)). pose proof (W c (or_introl eq_refl)). nra. }
    set (u := fun c => label r f (colluders c) (before c)) in *.
    set (v := fun c => label r f (colluders c) (after c)) in *.
    assert (Q : forall c, In c cases -> region a d (u c, v c)).
    { intros c Hin. destruct (B c Hin) as [_ P]. apply private_bit_is_region in P; auto. }
    unfold region in Q.
    assert (Hu : 0 <= mean u cases <= 1) by (apply Z; intros c Hin; specialize (Q c Hin); lra).
    assert (Hv : 0 <= mean v cases <= 1) by (apply Z; intros c Hin; specialize (Q c Hin); lra).
    assert (M1 : mean u cases <= a * mean v cases + d)
      by (apply M; intros c Hin; specialize (Q c Hin); lra).
    assert (M2 : mean v cases <= a * mean u cases + d)
      by (apply M; intros c Hin; specialize (Q c Hin); lra).
    assert (M3 : mean (fun c => 1 - u c) cases <= a * mean (fun c => 1 - v c) cases + d)
      by (apply M; intros c Hin; specialize (Q c Hin); lra).
    assert (M4 : mean (fun c => 1 - v c) cases <= a * mean (fun c => 1 - u c) cases + d)
      by (apply M; intros c Hin; specialize (Q c Hin); lra).
    rewrite !mean_minus, Hw in M3, M4. unfold region. lra.
Qed.

(** Randomized response: [e] is e^epsilon of a vote, whose probabilities are those of the corner (hi, lo). *)
Corollary K1_randomized_response : forall e f C N t a d,
  1 <= e -> (forall l, (l <= C + N)%nat -> 0 <= f l <= 1) -> 1 <= a -> 0 <= d ->
  let r b := if b : bool then hi e 0 else lo e 0 in
  (truths_private r f C N t a d <->
   forall k, (k <= C)%nat ->
     rows_hold moving_sure N t a d (known r f N k) /\ rows_hold moving_sure N t a d (other (known r f N k))).
Proof.
  intros e f C N t a d He Hf Ha Hd r. apply K1; auto.
  assert (In (hi e 0, lo e 0) (still ++ moving e 0)) as H by (simpl; auto).
  apply corners_in_region in H; [| lra..]. unfold region in H. intros b. destruct b; simpl; lra.
Qed.
