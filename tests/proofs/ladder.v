(** The ladder: the algebra of Theorem 2 of docs/composition.md, checked by a machine.

What is checked: for strategies of at most [q] labels, each of a row of finitely many answers that may depend on all
answers before, and for every event, Pr[event] - a Pr'[event] <= G (c_1 + ... + c_q) a + e_1 + ... + e_q for all
[a >= 0], if each increment [c_i] and pad [e_i] are enough for all rows at one level that is at most
c_1 + ... + c_(i-1). This is [ladder]. [step_bounds] is the upper half of Proposition 1 (the recursion),
[rung_at_larger_levels] the first half of Theorem 2, [rungs_add_up] the second.

What is assumed in these theorems, as premises about [G], and is not checked: that the excess [G s] of sqrt(s)-Gaussian
DP is at least [max 0 (1 - a)], that at a larger level it is its mean over multiples of [a], with the law of a
likelihood ratio, and that such a mean is defined on a class of functions with the usual properties. The theorems hold
for every [G] with these premises; whether the Gaussian one has them is not part of the proof. Nor are checked: the rows
of noisy max (Lemma 1), the increments that the program finds (Lemmas 3 to 6) and their rounding, and strategies that
draw random numbers of their own. *)

From Coq Require Import Reals List Lra Lia.
Require Import corners.
Import ListNotations.
Open Scope R_scope.

(** * Rows and the recursion *)

(** A row: for each answer its probabilities (P, Q) on the two data sets. A probability of [Q] that belongs to no
    answer may be missing. *)
Definition row := list (R * R).
Definition valid (r : row) : Prop := Forall (fun o => 0 <= fst o /\ 0 <= snd o) r /\ total (map fst r) = 1.

(** [step r V a] = sum over answers of P V(a Q / P). An answer with P = 0 adds 0, whatever the quotient is. *)
Definition step (r : row) (V : R -> R) (a : R) : R := total (map (fun o => fst o * V (a * (snd o / fst o))) r).

(** A strategy: it asks for a label of a row, and what it asks next depends on the answer. At the end it says
    whether what was released is in the event. *)
Inductive strategy : Type :=
  | Stop : bool -> strategy
  | Ask : row -> (nat -> strategy) -> strategy.

(** The sum over the answers of a row, numbered from [n]. *)
Fixpoint answers (x : R * R -> nat -> R) (r : row) (n : nat) : R :=
  match r with [] => 0 | o :: r => x o n + answers x r (S n) end.

(** The probability of the event on one data set: [side] is [fst] or [snd]. *)
Fixpoint event (side : R * R -> R) (s : strategy) : R :=
  match s with
  | Stop b => if b then 1 else 0
  | Ask r next => answers (fun o n => side o * event side (next n)) r 0
  end.

(** At most [q] labels, each of a row of [rows]. *)
Fixpoint asks (rows : row -> Prop) (q : nat) (s : strategy) : Prop :=
  match q, s with
  | _, Stop _ => True
  | S q, Ask r next => rows r /\ forall n, asks rows q (next n)
  | _, _ => False
  end.

Lemma event_nonneg : forall (rows : row -> Prop), (forall r, rows r -> valid r) ->
  forall q s, asks rows q s -> 0 <= event snd s.
Proof.
  intros rows Hrows. assert (S0 : forall b, 0 <= event snd (Stop b)) by (intros b; simpl; destruct b; lra).
  induction q as [| q IH]; intros [b | r next] H; auto; simpl in *; try contradiction.
  destruct H as [Hr Hn]. destruct (Hrows r Hr) as [Hpos _].
  assert (G : forall k, 0 <= answers (fun o n => snd o * event snd (next n)) r k).
  { clear Hr. induction Hpos as [| o r [_ Ho] Hpos IHr]; intros k; simpl; [lra |].
    specialize (IHr (S k)). pose proof (IH (next k) (Hn k)). nra. }
  apply G.
Qed.

(** One step of the recursion: what follows an answer is at most [V] everywhere. *)
Lemma step_bounds : forall (rows : row -> Prop), (forall r, rows r -> valid r) ->
  forall q V, (forall s, asks rows q s -> forall a, 0 <= a -> event fst s - a * event snd s <= V a) ->
  forall r next, asks rows (S q) (Ask r next) ->
    forall a, 0 <= a -> event fst (Ask r next) - a * event snd (Ask r next) <= step r V a.
Proof.
  intros rows Hrows q V HV r next H.
  destruct H as [Hr Hn]. intros a Ha. simpl.
  destruct (Hrows r Hr) as [Hpos _]. unfold step.
  assert (G : forall k, answers (fun o n => fst o * event fst (next n)) r k -
    a * answers (fun o n => snd o * event snd (next n)) r k <=
    total (map (fun o => fst o * V (a * (snd o / fst o))) r)).
  { clear Hr. induction Hpos as [| [P Q] r [HP HQ] Hpos IH]; intros k; simpl in *; [lra |].
    specialize (IH (S k)).
    assert (P * event fst (next k) - a * (Q * event snd (next k)) <= P * V (a * (Q / P))); [| lra].
    pose proof (event_nonneg rows Hrows q (next k) (Hn k)) as Hq.
    destruct HP as [HP | <-].
    - assert (Hz : 0 <= Q / P) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]).
      pose proof (HV (next k) (Hn k) (a * (Q / P)) (Rmult_le_pos _ _ Ha Hz)) as L.
      apply (Rmult_le_compat_l P) in L; [| lra].
      replace (a * (Q * event snd (next k))) with (P * (a * (Q / P) * event snd (next k))) by (field; lra). lra.
    - assert (0 <= a * (Q * event snd (next k))) by (repeat apply Rmult_le_pos; auto). lra. }
  apply G.
Qed.

(** The step is monotone, and adds at most what is added to [V]. *)
Lemma step_below : forall r V W e, valid r -> (forall a, 0 <= a -> V a <= W a + e) ->
  forall a, 0 <= a -> step r V a <= step r W a + e.
Proof.
  intros r V W e [Hpos Hone] H a Ha. unfold step.
  assert (G : total (map (fun o => fst o * V (a * (snd o / fst o))) r) <=
    total (map (fun o => fst o * W (a * (snd o / fst o))) r) + e * total (map fst r)).
  { clear Hone. induction Hpos as [| [P Q] r [HP HQ] Hpos IH]; simpl in *; [lra |].
    assert (P * V (a * (Q / P)) <= P * W (a * (Q / P)) + e * P); [| lra].
    destruct HP as [HP | <-]; [| lra].
    assert (Hz : 0 <= Q / P) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]).
    pose proof (H (a * (Q / P)) (Rmult_le_pos _ _ Ha Hz)) as L.
    apply (Rmult_le_compat_l P) in L; lra. }
  rewrite Hone in G. lra.
Qed.

(** * The ladder *)

Fixpoint below (x : nat -> R) (q : nat) : R := match q with O => 0 | S q => below x q + x q end.

(** The second half of Theorem 2: if a rung is one at every level from its own on, the rungs add up. *)
Theorem rungs_add_up : forall (rows : row -> Prop) (G : R -> R -> R) (c e level : nat -> R),
  (forall r, rows r -> valid r) ->
  (forall s a, 0 <= s -> 0 <= a -> Rmax 0 (1 - a) <= G s a) ->
  (forall i, 0 <= c i /\ 0 <= e i) -> (forall i, 0 <= level i <= below c i) ->
  (forall i r s, rows r -> level i <= s -> forall a, 0 <= a -> step r (G s) a <= G (s + c i) a + e i) ->
  forall q s, asks rows q s -> forall a, 0 <= a -> event fst s - a * event snd s <= G (below c q) a + below e q.
Proof.
  intros rows G c e level Hrows H0 Hc Hl Hstep.
  assert (B : forall q, 0 <= below c q /\ 0 <= below e q).
  { induction q as [| q IH]; simpl; [lra |]. destruct (Hc q). lra. }
  assert (Z : forall q b a, 0 <= a ->
    event fst (Stop b) - a * event snd (Stop b) <= G (below c q) a + below e q).
  { intros q b a Ha. destruct (B q) as [Bc Be]. specialize (H0 (below c q) a Bc Ha).
    pose proof (Rmax_l 0 (1 - a)). pose proof (Rmax_r 0 (1 - a)). simpl. destruct b; lra. }
  induction q as [| q IH]; intros [b | r next] Hs a Ha; auto; [contradiction |].
  pose proof (step_bounds rows Hrows q (fun a => G (below c q) a + below e q) IH r next Hs a Ha) as L.
  destruct Hs as [Hr _].
  assert (step r (fun a => G (below c q) a + below e q) a <= step r (G (below c q)) a + below e q)
    by (apply step_below; auto; intros; lra).
  assert (step r (G (below c q)) a <= G (below c q + c q) a + e q) by (apply Hstep; auto; apply Hl).
  simpl below. lra.
Qed.

(** The kernel that takes the excess of sqrt(s)-Gaussian DP to that of sqrt(s + u)-Gaussian DP is a mean over
    multiples of [a]: [G (s + u) a] = the mean of [G s (a m)] over [m] with the law of its likelihood ratio.
    Of the mean only this is used: it is defined on a class of functions that has constants, sums, multiples and
    rescaled functions; it is linear and monotone, and the mean of 1 is 1. *)
Record mean_over_multiples := {
  in_class : (R -> R) -> Prop;
  expectation : (R -> R) -> R;
  class_const : forall x, in_class (fun _ => x);
  class_plus : forall V W, in_class V -> in_class W -> in_class (fun m => V m + W m);
  class_times : forall x V, in_class V -> in_class (fun m => x * V m);
  class_same : forall V W, (forall m, 0 <= m -> V m = W m) -> in_class V -> in_class W;
  class_scale : forall x V, 0 <= x -> in_class V -> in_class (fun m => V (x * m));
  of_const : forall x, expectation (fun _ => x) = x;
  of_plus : forall V W, in_class V -> in_class W -> expectation (fun m => V m + W m) = expectation V + expectation W;
  of_times : forall x V, in_class V -> expectation (fun m => x * V m) = x * expectation V;
  of_below : forall V W, in_class V -> in_class W -> (forall m, 0 <= m -> V m <= W m) -> expectation V <= expectation W
}.

Lemma mean_same : forall (I : mean_over_multiples) V W,
  (forall m, 0 <= m -> V m = W m) -> in_class I V -> expectation I V = expectation I W.
Proof.
  intros I V W H HV. assert (HW : in_class I W) by (apply (class_same I V); auto).
  apply Rle_antisym; apply of_below; auto; intros m Hm; rewrite H by auto; lra.
Qed.

(** The kernel commutes with a step. *)
Lemma kernel_commutes : forall (I : mean_over_multiples) V, in_class I V ->
  forall r, valid r -> forall a, 0 <= a ->
  in_class I (fun m => step r V (a * m)) /\
  expectation I (fun m => step r V (a * m)) = step r (fun b => expectation I (fun m => V (b * m))) a.
Proof.
  intros I V HV r [Hpos _] a Ha. unfold step.
  induction Hpos as [| [P Q] r [HP HQ] Hpos [IHc IHe]]; simpl in *.
  - split; [apply class_const | apply of_const].
  - assert (Z : exists z, 0 <= z /\ forall m, P * V (a * m * (Q / P)) = P * V (z * m)).
    { destruct HP as [HP | <-].
      - exists (a * (Q / P)). split.
        + apply Rmult_le_pos; auto. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto].
        + intros m. do 2 f_equal. ring.
      - exists 0. split; [lra |]. intros m. lra. }
    destruct Z as (z & Hz & E).
    assert (E' : P * expectation I (fun m => V (a * (Q / P) * m)) = P * expectation I (fun m => V (z * m))).
    { destruct (Req_dec P 0) as [-> | N]; [lra |]. f_equal. apply mean_same.
      - intros m _. specialize (E m). replace (a * m * (Q / P)) with (a * (Q / P) * m) in E by ring.
        apply Rmult_eq_reg_l in E; auto.
      - destruct HP as [HP | <-]; [| lra]. apply class_scale; auto.
        apply Rmult_le_pos; auto. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]. }
    rewrite E', <- IHe, <- of_times, <- of_plus by (auto; try apply class_times; apply class_scale; auto).
    assert (C : in_class I (fun m => P * V (z * m) + total (map (fun o => fst o * V (a * m * (snd o / fst o))) r))).
    { apply class_plus; auto. apply class_times, class_scale; auto. }
    split.
    + eapply class_same; [| exact C]. intros m _. simpl. rewrite E. reflexivity.
    + symmetry. apply mean_same; auto. intros m _. simpl. rewrite E. reflexivity.
Qed.

(** The first half of Theorem 2: what is enough at one level is enough at every larger one. The premises about [G]
    say that it is at every level in the class of every mean, and that there is a mean from each level to each larger
    one. *)
Theorem rung_at_larger_levels : forall (G : R -> R -> R) (I : R -> mean_over_multiples),
  (forall u s, 0 <= u -> 0 <= s -> in_class (I u) (G s)) ->
  (forall u s, 0 <= u -> 0 <= s -> forall a, 0 <= a -> expectation (I u) (fun m => G s (a * m)) = G (s + u) a) ->
  forall r s c e, valid r -> 0 <= s -> 0 <= c -> (forall a, 0 <= a -> step r (G s) a <= G (s + c) a + e) ->
  forall s', s <= s' -> forall a, 0 <= a -> step r (G s') a <= G (s' + c) a + e.
Proof.
  intros G I HI HG r s c e Hr Hs Hc H s' Hs' a Ha.
  set (u := s' - s). assert (Hu : 0 <= u) by (unfold u; lra).
  destruct (kernel_commutes (I u) (G s) (HI u s Hu Hs) r Hr a Ha) as [C E].
  assert (L : step r (G s') a <= step r (fun b => expectation (I u) (fun m => G s (b * m))) a + 0).
  { apply step_below; auto. intros b Hb. rewrite HG by auto. unfold u. replace (s + (s' - s)) with s' by ring. lra. }
  rewrite <- E in L.
  assert (D : in_class (I u) (fun m => G (s + c) (a * m) + e)).
  { apply (class_plus (I u) (fun m => G (s + c) (a * m)) (fun _ => e)); [| apply class_const].
    apply class_scale; auto. apply HI; lra. }
  assert (M : expectation (I u) (fun m => step r (G s) (a * m)) <= expectation (I u) (fun m => G (s + c) (a * m) + e)).
  { apply of_below; auto. intros m Hm. apply H. apply Rmult_le_pos; auto. }
  rewrite (of_plus (I u) (fun m => G (s + c) (a * m)) (fun _ => e)) in M;
    [| apply class_scale; auto; apply HI; lra | apply class_const].
  rewrite of_const, HG in M by (auto; lra).
  replace (s + c + u) with (s' + c) in M by (unfold u; ring). lra.
Qed.

(** Theorem 2, for the labels of any strategy and any event. *)
Theorem ladder : forall (G : R -> R -> R) (I : R -> mean_over_multiples),
  (forall u s, 0 <= u -> 0 <= s -> in_class (I u) (G s)) ->
  (forall u s, 0 <= u -> 0 <= s -> forall a, 0 <= a -> expectation (I u) (fun m => G s (a * m)) = G (s + u) a) ->
  (forall s a, 0 <= s -> 0 <= a -> Rmax 0 (1 - a) <= G s a) ->
  forall (rows : row -> Prop) (c e level : nat -> R),
  (forall r, rows r -> valid r) -> (forall i, 0 <= c i /\ 0 <= e i) -> (forall i, 0 <= level i <= below c i) ->
  (forall i r, rows r -> forall a, 0 <= a -> step r (G (level i)) a <= G (level i + c i) a + e i) ->
  forall q s, asks rows q s -> forall a, 0 <= a -> event fst s - a * event snd s <= G (below c q) a + below e q.
Proof.
  intros G I HI HG H0 rows c e level Hrows Hc Hl Hstep q s Hs a Ha.
  apply (rungs_add_up rows G c e level); auto.
  intros i r s' Hr Hs' b Hb. apply (rung_at_larger_levels G I HI HG r (level i)); auto; [apply Hl | apply Hc].
Qed.
