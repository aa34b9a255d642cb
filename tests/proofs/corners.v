(** The corners are enough: Lemmas 2 and 3 of docs/theory.md, and Lemma 1 for their votes, for every K, checked by a
    machine.

    coqc corners.v     takes seconds, with Coq 8.16; [make proofs] checks all files of this folder

What is checked here, over the real numbers, for all [a >= 1] (e^epsilon), [0 <= D < 1] (Delta), [a' >= 1]
(e^epsilon'), [d >= 0] (delta), all numbers [K] of voters and [t] of affected voters, and all tables [f] in [0, 1]:

  private_bit_is_region       a bit is (epsilon, Delta)-DP in both directions, by the definition over all events, if and
                              only if its pair of probabilities is in the region of six conditions
  region_is_hull              the region is the convex hull of the eight corners
  region_is_hull_pure         of the first four, if Delta is 0
  corners_suffice             a function of K pairs that is affine in each, each in the hull of its own finite set of
                              corners, is at most its value at some choice of corners
  pmf_is_the_law              the recursion for the number of ones is the sum over all outcomes of independent votes
  excess_affine               Pr[label 1] - a' Pr'[label 1] is affine in each voter's pair
  excess_symmetric            and does not depend on the order of the voters, so that multisets are enough
  worst_at_corners            so it is at most [d] for all votes if it is at most [d] for each multiset of K corners
                              with at most t outside (0,0) and (1,1)
  label_private_iff_rows      the label is (epsilon', delta)-DP for all (epsilon, Delta)-DP votes of which at most t are
                              affected, if and only if these constraints hold for both answers
  majority_private_iff_rows   for one answer, if f (K - l) = 1 - f l; [gamma_private_iff_rows] with the noise function
                              gamma, [row_of_F] in the form of the linear program
  label_private_epsilon       the same as label_private_iff_rows, with [exp epsilon]

What is not checked here: that the program lists these corners and constraints (a test in Python compares the corners,
other tests compare the constraints), its arithmetic in float64 and its bounds on rounding, Lemmas 3a to 20, groups of
voters with different epsilons, several classes, many labels, sampling, and whether the votes of real voters are
independent and as private as stated. *)

From Coq Require Import Reals List Permutation Lra Lia.
Import ListNotations.
Open Scope R_scope.

(** * One bit *)

(** A bit that is 1 ([true]) with probability [p] falls into the event [E] with this probability. *)
Definition pr (p : R) (E : bool -> bool) : R :=
  (if E true then p else 0) + (if E false then 1 - p else 0).

(** Differential privacy of one direction, with [a] for e^epsilon: for every event. *)
Definition dp (a d p q : R) : Prop := forall E : bool -> bool, pr p E <= a * pr q E + d.

(** The pairs of probabilities of a bit that is private in both directions. *)
Definition private_bit (a D : R) (v : R * R) : Prop :=
  0 <= fst v <= 1 /\ 0 <= snd v <= 1 /\ dp a D (fst v) (snd v) /\ dp a D (snd v) (fst v).

Lemma dp_answers : forall a d p q, 1 <= a -> 0 <= d -> 0 <= q <= 1 ->
  (dp a d p q <-> p <= a * q + d /\ 1 - p <= a * (1 - q) + d).
Proof.
  intros a d p q Ha Hd Hq. split.
  - intros H. pose proof (H (fun b => b)) as H1. pose proof (H negb) as H0.
    unfold pr in *. simpl in *. lra.
  - intros [H1 H0] E. unfold pr. destruct (E true), (E false); nra.
Qed.

(** * The region and its corners *)

Definition region (a D : R) (v : R * R) : Prop :=
  let (p, q) := v in
  0 <= p <= 1 /\ 0 <= q <= 1 /\ p <= a * q + D /\ q <= a * p + D /\
  1 - p <= a * (1 - q) + D /\ 1 - q <= a * (1 - p) + D.

Theorem private_bit_is_region : forall a D v, 1 <= a -> 0 <= D -> (private_bit a D v <-> region a D v).
Proof.
  intros a D [p q] Ha HD. unfold private_bit, region. simpl. split.
  - intros (Hp & Hq & H & H').
    apply dp_answers in H; [| lra..]. apply dp_answers in H'; lra.
  - intros (Hp & Hq & H). repeat split; try lra; apply dp_answers; lra.
Qed.

Definition hi (a D : R) : R := (a + D) / (a + 1).
Definition lo (a D : R) : R := (1 - D) / (a + 1).

Definition still : list (R * R) := [(0, 0); (1, 1)].
Definition moving (a D : R) : list (R * R) :=
  [(hi a D, lo a D); (lo a D, hi a D); (D, 0); (0, D); (1 - D, 1); (1, 1 - D)].
Definition moving_pure (a : R) : list (R * R) := [(hi a 0, lo a 0); (lo a 0, hi a 0)].

Fixpoint total (w : list R) : R :=
  match w with [] => 0 | x :: w => x + total w end.

Fixpoint mix (w : list R) (C : list (R * R)) : R * R :=
  match w, C with
  | x :: w, c :: C => (x * fst c + fst (mix w C), x * snd c + snd (mix w C))
  | _, _ => (0, 0)
  end.

Definition hull (C : list (R * R)) (v : R * R) : Prop :=
  exists w, length w = length C /\ Forall (fun x => 0 <= x) w /\ total w = 1 /\ mix w C = v.

Lemma quotient : forall x y z, 0 < y -> x * y = z -> 0 <= z -> 0 <= x.
Proof. intros x y z Hy <- Hz. nra. Qed.

(** Barycentric coordinates below the diagonal: three triangles. *)
Lemma below : forall a D p q, 1 <= a -> 0 <= D < 1 -> region a D (p, q) -> q <= p ->
  exists w0 w1 wh wD wE,
    0 <= w0 /\ 0 <= w1 /\ 0 <= wh /\ 0 <= wD /\ 0 <= wE /\ (D = 0 -> wD = 0 /\ wE = 0) /\
    w0 + w1 + wh + wD + wE = 1 /\
    p = w1 + wh * hi a D + wD * D + wE /\ q = w1 + wh * lo a D + wE * (1 - D).
Proof.
  intros a D p q Ha HD (Hp & Hq & H1 & _ & _ & H4) Hpq.
  unfold hi, lo.
  assert (Hs : 0 < a + 1) by lra. assert (Hl : 0 < 1 - D) by lra.
  destruct (Rlt_le_dec (q * (a + D)) (p * (1 - D))) as [A | A].
  - (* (0,0), (D,0), (hi,lo) *)
    assert (HD0 : 0 < D) by nra. assert (HDD : 0 < D * (1 - D)) by nra.
    pose (wh := q * (a + 1) / (1 - D)). pose (wD := (p - q * (a + D) / (1 - D)) / D).
    exists (1 - wD - wh), 0, wh, wD, 0.
    assert (Hh : 0 <= wh) by (apply (quotient wh (1 - D) (q * (a + 1))); [| unfold wh; field |]; nra).
    assert (Hw : 0 <= wD) by (apply (quotient wD (D * (1 - D)) (p * (1 - D) - q * (a + D)));
      [| unfold wD; field |]; lra).
    assert (H0 : 0 <= 1 - wD - wh) by (apply (quotient _ (D * (1 - D)) ((1 - D) * (a * q + D - p)));
      [lra | unfold wD, wh; field; lra | nra]).
    repeat split; try lra; unfold wh, wD; field; lra.
  - destruct (Rlt_le_dec ((1 - p) * (a + D)) ((1 - q) * (1 - D))) as [B | B].
    + (* (1,1), (1,1-D), (hi,lo) *)
      assert (HD0 : 0 < D) by nra. assert (HDD : 0 < D * (1 - D)) by nra.
      pose (wh := (1 - p) * (a + 1) / (1 - D)). pose (wE := ((1 - q) - (1 - p) * (a + D) / (1 - D)) / D).
      exists 0, (1 - wE - wh), wh, 0, wE.
      assert (Hh : 0 <= wh) by (apply (quotient wh (1 - D) ((1 - p) * (a + 1))); [| unfold wh; field |]; nra).
      assert (Hw : 0 <= wE) by (apply (quotient wE (D * (1 - D)) ((1 - q) * (1 - D) - (1 - p) * (a + D)));
        [| unfold wE; field |]; lra).
      assert (H0 : 0 <= 1 - wE - wh) by (apply (quotient _ (D * (1 - D)) ((1 - D) * (a * (1 - p) + D - (1 - q))));
        [lra | unfold wE, wh; field; lra | nra]).
      repeat split; try lra; unfold wh, wE; field; lra.
    + (* (0,0), (hi,lo), (1,1) *)
      destruct (Req_dec p q) as [E | N].
      * exists (1 - p), p, 0, 0, 0. repeat split; lra.
      * assert (Hg : 0 < a - 1 + 2 * D) by nra.
        pose (wh := (p - q) * (a + 1) / (a - 1 + 2 * D)).
        pose (w1 := q - (p - q) * (1 - D) / (a - 1 + 2 * D)).
        exists (1 - w1 - wh), w1, wh, 0, 0.
        assert (Hh : 0 <= wh) by (apply (quotient wh (a - 1 + 2 * D) ((p - q) * (a + 1)));
          [| unfold wh; field |]; nra).
        assert (H1' : 0 <= w1) by (apply (quotient w1 (a - 1 + 2 * D) (q * (a + D) - p * (1 - D)));
          [| unfold w1; field |]; lra).
        assert (H0 : 0 <= 1 - w1 - wh) by (apply (quotient _ (a - 1 + 2 * D) ((1 - p) * (a + D) - (1 - q) * (1 - D)));
          [| unfold w1, wh; field |]; lra).
        repeat split; try lra; unfold wh, w1; field; lra.
Qed.

Ltac weights := split; [reflexivity |]; split; [repeat (apply Forall_cons; [lra |]); apply Forall_nil |]; split;
  simpl; [lra | f_equal; lra].

Lemma region_in_hull : forall a D v, 1 <= a -> 0 <= D < 1 -> region a D v ->
  hull (still ++ moving a D) v /\ (D = 0 -> hull (still ++ moving_pure a) v).
Proof.
  intros a D [p q] Ha HD H.
  destruct (Rle_dec q p) as [Hpq | Hpq].
  - destruct (below a D p q Ha HD H Hpq) as (w0 & w1 & wh & wD & wE & H0 & H1 & Hh & HwD & HwE & Hz & Hs & Ep & Eq).
    split.
    + exists [w0; w1; wh; 0; wD; 0; 0; wE]. weights.
    + intros E. destruct (Hz E) as [-> ->]. subst D. exists [w0; w1; wh; 0]. weights.
  - assert (H' : region a D (q, p)) by (unfold region in *; lra).
    assert (Hqp : p <= q) by lra.
    destruct (below a D q p Ha HD H' Hqp) as (w0 & w1 & wh & wD & wE & H0 & H1 & Hh & HwD & HwE & Hz & Hs & Ep & Eq).
    split.
    + exists [w0; w1; 0; wh; 0; wD; wE; 0]. weights.
    + intros E. destruct (Hz E) as [-> ->]. subst D. exists [w0; w1; 0; wh]. weights.
Qed.

(** * Affine functions on a hull *)

Definition affine (f : R * R -> R) : Prop := exists x y z, forall v, f v = x + y * fst v + z * snd v.

Lemma mix_below : forall x y z M w C,
  Forall (fun u => 0 <= u) w -> length w = length C ->
  (forall c, In c C -> x + y * fst c + z * snd c <= M) ->
  x * total w + y * fst (mix w C) + z * snd (mix w C) <= M * total w.
Proof.
  intros x y z M w. induction w as [| u w IH]; intros [| c C] Hw Hl Hc; simpl in *; try discriminate; try lra.
  inversion Hw as [| ? ? Hu Hw']. subst.
  assert (H : x * total w + y * fst (mix w C) + z * snd (mix w C) <= M * total w) by (apply IH; auto).
  assert (H1 : x + y * fst c + z * snd c <= M) by (apply Hc; auto).
  assert (H2 : u * (x + y * fst c + z * snd c) <= u * M) by (apply Rmult_le_compat_l; auto).
  lra.
Qed.

Lemma hull_below : forall f M C v, affine f -> hull C v -> (forall c, In c C -> f c <= M) -> f v <= M.
Proof.
  intros f M C v (x & y & z & Hf) (w & Hl & Hw & Ht & Hm) Hc.
  rewrite Hf. subst v.
  pose proof (mix_below x y z M w C Hw Hl) as H. rewrite Ht in H.
  assert (x * 1 + y * fst (mix w C) + z * snd (mix w C) <= M * 1); [| lra].
  apply H. intros c Hin. rewrite <- Hf. auto.
Qed.

Lemma largest : forall (f : R * R -> R) C, C <> [] -> exists c, In c C /\ forall c', In c' C -> f c' <= f c.
Proof.
  intros f C. induction C as [| c C IH]; intros H; [congruence |].
  destruct C as [| d C].
  - exists c. split; [left; auto |]. intros c' [-> | []]. lra.
  - destruct IH as (b & Hb & Hmax); [discriminate |].
    destruct (Rle_dec (f b) (f c)) as [L | L].
    + exists c. split; [left; auto |]. intros c' [-> | Hc']; [lra |]. specialize (Hmax c' Hc'). lra.
    + exists b. split; [right; auto |]. intros c' [-> | Hc']; [lra | auto].
Qed.

(** An affine function is largest at a corner. *)
Lemma hull_largest : forall f C v, affine f -> hull C v -> exists c, In c C /\ f v <= f c.
Proof.
  intros f C v Hf Hv.
  destruct (largest f C) as (c & Hc & Hmax).
  - intros ->. destruct Hv as (w & Hl & _ & Ht & _). destruct w; simpl in *; [lra | discriminate].
  - exists c. split; [auto |]. apply (hull_below f (f c) C); auto.
Qed.

Lemma affine_intro : forall x y z, affine (fun v => x + y * fst v + z * snd v).
Proof. intros x y z. exists x, y, z. auto. Qed.

Lemma hull_convex : forall a D C v, (forall c, In c C -> region a D c) -> hull C v -> region a D v.
Proof.
  intros a D C v HC Hv.
  assert (G : forall x y z M, (forall c, region a D c -> x + y * fst c + z * snd c <= M) ->
    x + y * fst v + z * snd v <= M).
  { intros x y z M H. apply (hull_below _ M C v (affine_intro x y z) Hv). intros c Hc. apply H. auto. }
  destruct v as [p q]. simpl in G. unfold region.
  assert (0 + -1 * p + 0 * q <= 0) by (apply G; intros [p' q']; simpl; lra).
  assert (0 + 1 * p + 0 * q <= 1) by (apply G; intros [p' q']; simpl; lra).
  assert (0 + 0 * p + -1 * q <= 0) by (apply G; intros [p' q']; simpl; lra).
  assert (0 + 0 * p + 1 * q <= 1) by (apply G; intros [p' q']; simpl; lra).
  assert (0 + 1 * p + - a * q <= D) by (apply G; intros [p' q']; simpl; lra).
  assert (0 + - a * p + 1 * q <= D) by (apply G; intros [p' q']; simpl; lra).
  assert (1 - a + -1 * p + a * q <= D) by (apply G; intros [p' q']; simpl; lra).
  assert (1 - a + a * p + -1 * q <= D) by (apply G; intros [p' q']; simpl; lra).
  lra.
Qed.

Lemma corners_in_region : forall a D c, 1 <= a -> 0 <= D < 1 -> In c (still ++ moving a D) -> region a D c.
Proof.
  intros a D c Ha HD Hc.
  assert (Hs : 0 < a + 1) by lra.
  assert (Eh : hi a D * (a + 1) = a + D) by (unfold hi; field; lra).
  assert (El : lo a D = 1 - hi a D) by (unfold lo, hi; field; lra).
  assert (0 <= hi a D) by nra. assert (hi a D <= 1) by nra.
  simpl in Hc. repeat (destruct Hc as [<- | Hc]; [unfold region; repeat split; nra |]). destruct Hc.
Qed.

(** (a) The region is the convex hull of the corners: eight, or four if [D] is 0. *)
Theorem region_is_hull : forall a D v, 1 <= a -> 0 <= D < 1 -> (region a D v <-> hull (still ++ moving a D) v).
Proof.
  intros a D v Ha HD. split.
  - intros H. apply region_in_hull; auto.
  - apply hull_convex. intros c Hc. apply corners_in_region; auto.
Qed.

Theorem region_is_hull_pure : forall a v, 1 <= a -> (region a 0 v <-> hull (still ++ moving_pure a) v).
Proof.
  intros a v Ha. split.
  - intros H. apply (region_in_hull a 0 v); auto. lra.
  - apply hull_convex. intros c Hc. apply corners_in_region; auto; [lra |].
    simpl in *. tauto.
Qed.

(** A voter that is not affected: the diagonal is the hull of (0,0) and (1,1). *)
Lemma diagonal_is_hull : forall v, 0 <= fst v <= 1 /\ snd v = fst v <-> hull still v.
Proof.
  intros [p q]. simpl. split.
  - intros [Hp ->]. exists [1 - p; p]. weights.
  - intros (w & Hl & Hw & Ht & Hm).
    destruct w as [| x [| y [| z w]]]; simpl in *; try discriminate.
    inversion Hw as [| ? ? Hx Hw']. inversion Hw' as [| ? ? Hy ?]. injection Hm as Ep Eq. lra.
Qed.

(** * A function of [K] pairs that is affine in each *)

Definition affine_in_each (g : list (R * R) -> R) : Prop :=
  forall before after, affine (fun v => g (before ++ v :: after)).

(** (b) Voter by voter: each in a hull of its own corners, any finite set. *)
Theorem corners_suffice : forall Cs vs, Forall2 hull Cs vs -> forall g, affine_in_each g ->
  exists cs, Forall2 (fun C c => In c C) Cs cs /\ g vs <= g cs.
Proof.
  intros Cs vs H. induction H as [| C v Cs vs Hv H IH]; intros g Hg.
  - exists []. split; [constructor | lra].
  - destruct (hull_largest (fun v => g ([] ++ v :: vs)) C v (Hg [] vs) Hv) as (c & Hc & L).
    destruct (IH (fun l => g (c :: l))) as (cs & Hcs & L').
    + intros before after. apply (Hg (c :: before) after).
    + exists (c :: cs). simpl in L. split; [constructor; auto | lra].
Qed.

(** * Multisets *)

Fixpoint copies (ns : list nat) (C : list (R * R)) : list (R * R) :=
  match ns, C with
  | n :: ns, c :: C => repeat c n ++ copies ns C
  | _, _ => []
  end.

Lemma copies_none : forall C, copies (repeat 0%nat (length C)) C = [].
Proof. induction C as [| c C IH]; simpl; auto. Qed.

Lemma one_more : forall c C ns, In c C -> length ns = length C ->
  exists ns', length ns' = length C /\ list_sum ns' = S (list_sum ns) /\
    Permutation (c :: copies ns C) (copies ns' C).
Proof.
  intros c C. induction C as [| d C IH]; intros [| n ns] Hc Hl; simpl in *; try discriminate; [destruct Hc |].
  destruct Hc as [-> | Hc].
  - exists (S n :: ns). simpl. repeat split; auto.
  - destruct (IH ns Hc) as (ns' & Hl' & Hs & Hp); [lia |].
    exists (n :: ns'). simpl. repeat split; [lia | lia |].
    eapply Permutation_trans; [apply Permutation_middle |]. apply Permutation_app_head. exact Hp.
Qed.

Lemma copies_app : forall ns C ms M, length ns = length C -> copies (ns ++ ms) (C ++ M) = copies ns C ++ copies ms M.
Proof.
  induction ns as [| n ns IH]; intros [| c C] ms M Hl; simpl in *; try discriminate; auto.
  rewrite IH by lia. apply app_assoc.
Qed.

Lemma copies_length : forall ns C, length ns = length C -> length (copies ns C) = list_sum ns.
Proof.
  induction ns as [| n ns IH]; intros [| c C] Hl; simpl in *; try discriminate; auto.
  rewrite app_length, repeat_length, IH by lia. reflexivity.
Qed.

(** The number of affected voters. *)
Definition affected (mask : list bool) : nat := length (filter (fun b => b) mask).

(** If voters not affected stay at corners of [S] and the others are anywhere, then a multiset describes them. *)
Lemma multiset_of : forall St M mask cs,
  Forall2 (fun C c => In c C) (map (fun b : bool => if b then St ++ M else St) mask) cs ->
  exists ns ms, length ns = length St /\ length ms = length M /\
    (list_sum ns + list_sum ms = length mask)%nat /\ (list_sum ms <= affected mask)%nat /\
    Permutation cs (copies (ns ++ ms) (St ++ M)).
Proof.
  intros St M mask. induction mask as [| b mask IH]; intros cs H; inversion H as [| C c Cs cs' Hc H']; subst.
  - exists (repeat 0%nat (length St)), (repeat 0%nat (length M)).
    assert (Z : forall n, list_sum (repeat 0%nat n) = 0%nat) by (induction n; simpl; auto).
    rewrite !repeat_length, !Z, copies_app, !copies_none by apply repeat_length.
    simpl. auto.
  - destruct (IH cs' H') as (ns & ms & Hns & Hms & Hs & Ht & Hp).
    rewrite copies_app in Hp by auto.
    assert (D : In c St \/ (b = true /\ In c M)).
    { destruct b; [apply in_app_or in Hc; tauto | auto]. }
    destruct D as [D | [-> D]].
    + destruct (one_more c St ns D Hns) as (ns' & Hl & Hs' & Hp').
      exists ns', ms. unfold affected in *. rewrite copies_app by auto. repeat split; auto.
      * simpl. lia.
      * destruct b; simpl; lia.
      * eapply Permutation_trans; [apply perm_skip; exact Hp |].
        change (c :: copies ns St ++ copies ms M) with ((c :: copies ns St) ++ copies ms M).
        apply Permutation_app_tail. exact Hp'.
    + destruct (one_more c M ms D Hms) as (ms' & Hl & Hs' & Hp').
      exists ns, ms'. unfold affected in *. rewrite copies_app by auto. repeat split; auto.
      * simpl. lia.
      * simpl. lia.
      * eapply Permutation_trans; [apply perm_skip; exact Hp |].
        eapply Permutation_trans; [apply Permutation_middle |]. apply Permutation_app_head. exact Hp'.
Qed.

(** * The number of ones among independent votes *)

(** [pmf ps l]: the probability of [l] ones, voter by voter. *)
Fixpoint pmf (ps : list R) (l : nat) : R :=
  match ps with
  | [] => match l with O => 1 | S _ => 0 end
  | p :: ps => (1 - p) * pmf ps l + match l with O => 0 | S l => p * pmf ps l end
  end.

Fixpoint outcomes (n : nat) : list (list bool) :=
  match n with
  | O => [[]]
  | S n => map (cons false) (outcomes n) ++ map (cons true) (outcomes n)
  end.

Fixpoint chance (ps : list R) (bits : list bool) : R :=
  match ps, bits with
  | p :: ps, b :: bits => (if b then p else 1 - p) * chance ps bits
  | _, _ => 1
  end.

Fixpoint ones (bits : list bool) : nat :=
  match bits with [] => O | b :: bits => ((if b then 1 else 0) + ones bits)%nat end.

Lemma total_app : forall v w, total (v ++ w) = total v + total w.
Proof. induction v as [| x v IH]; intros w; simpl; [lra | rewrite IH; lra]. Qed.

Lemma total_map_scale : forall (A : Type) (x : R) (f g : A -> R) l,
  (forall i, f i = x * g i) -> total (map f l) = x * total (map g l).
Proof. intros A x f g l H. induction l as [| i l IH]; simpl; [lra | rewrite IH, H; lra]. Qed.

(** It is the sum of the probabilities of all outcomes with [l] ones. *)
Theorem pmf_is_the_law : forall ps l,
  pmf ps l = total (map (fun bits => if Nat.eqb (ones bits) l then chance ps bits else 0) (outcomes (length ps))).
Proof.
  induction ps as [| p ps IH]; intros l; simpl.
  - destruct l; simpl; lra.
  - rewrite map_app, total_app, !map_map. f_equal.
    + rewrite IH. symmetry. apply total_map_scale. intros bits. simpl.
      destruct (Nat.eqb (ones bits) l); lra.
    + destruct l as [| l].
      * symmetry. rewrite (total_map_scale _ 0 _ (fun _ => 0)); [lra |]. intros bits. simpl. lra.
      * rewrite IH. symmetry. apply total_map_scale. intros bits. simpl.
        destruct (Nat.eqb (ones bits) l); lra.
Qed.

(** The probability of the label 1: the mean of the table [f] at the number of ones. *)
Definition accept (f : nat -> R) (ps : list R) : R := sum_f_R0 (fun l => pmf ps l * f l) (length ps).

Lemma pmf_beyond : forall ps l, (length ps < l)%nat -> pmf ps l = 0.
Proof.
  induction ps as [| p ps IH]; intros [| l] H; simpl in *; try lia; auto.
  rewrite !IH by lia. lra.
Qed.

Lemma accept_nil : forall f, accept f [] = f 0%nat.
Proof. intros f. unfold accept. simpl. lra. Qed.

Lemma accept_cons : forall f p ps, accept f (p :: ps) = (1 - p) * accept f ps + p * accept (fun l => f (S l)) ps.
Proof.
  intros f p ps. unfold accept.
  assert (E : sum_f_R0 (fun l => pmf (p :: ps) l * f l) (length (p :: ps)) =
    (1 - p) * sum_f_R0 (fun l => pmf ps l * f l) (S (length ps)) +
    p * sum_f_R0 (fun l => pmf ps l * f (S l)) (length ps)).
  { rewrite (scal_sum _ _ (1 - p)), (scal_sum _ _ p).
    simpl length. rewrite decomp_sum by lia.
    rewrite (decomp_sum (fun i => pmf ps i * f i * (1 - p)) (S (length ps))) by lia.
    simpl pred. rewrite Rplus_assoc, <- sum_plus. simpl. f_equal; [lra |].
    apply sum_eq. intros i _. lra. }
  rewrite E. simpl sum_f_R0 at 1. rewrite (pmf_beyond ps (S (length ps))) by lia. lra.
Qed.

(** It is affine in each probability. *)
Lemma accept_affine : forall before after f, exists x y,
  forall p, accept f (before ++ p :: after) = x + y * p.
Proof.
  induction before as [| q before IH]; intros after f; simpl.
  - exists (accept f after), (accept (fun l => f (S l)) after - accept f after).
    intros p. rewrite accept_cons. lra.
  - destruct (IH after f) as (x0 & y0 & H0). destruct (IH after (fun l => f (S l))) as (x1 & y1 & H1).
    exists ((1 - q) * x0 + q * x1), ((1 - q) * y0 + q * y1).
    intros p. rewrite accept_cons, H0, H1. lra.
Qed.

(** It does not depend on the order of the voters. *)
Lemma accept_order : forall ps qs, Permutation ps qs -> forall f, accept f ps = accept f qs.
Proof.
  intros ps qs H. induction H as [| p ps qs H IH | p q ps | ps qs rs H IH H' IH']; intros f; auto.
  - rewrite !accept_cons, !IH. reflexivity.
  - rewrite !accept_cons. ring.
  - rewrite IH. auto.
Qed.

Lemma accept_range : forall ps f, Forall (fun p => 0 <= p <= 1) ps ->
  (forall l, (l <= length ps)%nat -> 0 <= f l <= 1) -> 0 <= accept f ps <= 1.
Proof.
  induction ps as [| p ps IH]; intros f Hp Hf.
  - rewrite accept_nil. apply Hf. simpl. lia.
  - inversion Hp as [| ? ? Hp0 Hps]. subst. rewrite accept_cons. simpl in Hf.
    assert (0 <= accept f ps <= 1) by (apply IH; auto).
    assert (0 <= accept (fun l => f (S l)) ps <= 1) by (apply IH; auto; intros l Hl; apply Hf; lia).
    nra.
Qed.

(** The other answer: the table [1 - f]. *)
Definition other (f : nat -> R) : nat -> R := fun l => 1 - f l.

Lemma accept_other : forall ps f, accept (other f) ps = 1 - accept f ps.
Proof.
  induction ps as [| p ps IH]; intros f; [rewrite !accept_nil; reflexivity |].
  rewrite !accept_cons, IH.
  change (fun l => other f (S l)) with (other (fun l => f (S l))). rewrite IH. ring.
Qed.

Lemma accept_same : forall ps f g, (forall l, (l <= length ps)%nat -> f l = g l) -> accept f ps = accept g ps.
Proof.
  intros ps f g H. unfold accept. apply sum_eq. intros l Hl. rewrite H by auto. reflexivity.
Qed.

(** All votes turned round: the table read from the other end. *)
Lemma accept_mirror : forall ps f,
  accept f (map (fun p => 1 - p) ps) = accept (fun l => f (length ps - l)%nat) ps.
Proof.
  induction ps as [| p ps IH]; intros f; simpl map; [rewrite !accept_nil; reflexivity |].
  rewrite !accept_cons, !IH. simpl length.
  rewrite (accept_same ps (fun l => f (S (length ps) - l)%nat) (fun l => f (S (length ps - l)))).
  - simpl. ring.
  - intros l Hl. f_equal. lia.
Qed.

(** * The excess of a label, and its constraints *)

Definition excess (a : R) (f : nat -> R) (vs : list (R * R)) : R :=
  accept f (map fst vs) - a * accept f (map snd vs).

(** (c) It is affine in each pair, and symmetric in the voters. *)
Theorem excess_affine : forall a f, affine_in_each (excess a f).
Proof.
  intros a f before after.
  destruct (accept_affine (map fst before) (map fst after) f) as (x & y & H).
  destruct (accept_affine (map snd before) (map snd after) f) as (x' & y' & H').
  exists (x - a * x'), y, (- a * y'). intros v. unfold excess.
  rewrite !map_app. simpl map. rewrite H, H'. lra.
Qed.

Theorem excess_symmetric : forall a f vs ws, Permutation vs ws -> excess a f vs = excess a f ws.
Proof.
  intros a f vs ws H. unfold excess.
  rewrite (accept_order _ _ (Permutation_map fst H)), (accept_order _ _ (Permutation_map snd H)). reflexivity.
Qed.

(** The pairs of the voters: an affected voter's vote is (epsilon, Delta)-DP, the others' votes do not change. *)
Definition voter (a D : R) (b : bool) (v : R * R) : Prop :=
  if b then private_bit a D v else 0 <= fst v <= 1 /\ snd v = fst v.

Definition votes (a D : R) (K t : nat) (vs : list (R * R)) : Prop :=
  length vs = K /\ exists mask, Forall2 (voter a D) mask vs /\ (affected mask <= t)%nat.

(** One constraint for every multiset of [K] corners with at most [t] of them in [M]. *)
Definition rows_hold (M : list (R * R)) (K t : nat) (a' d : R) (f : nat -> R) : Prop :=
  forall ns ms, length ns = length still -> length ms = length M ->
    (list_sum ns + list_sum ms = K)%nat -> (list_sum ms <= t)%nat ->
    excess a' f (copies (ns ++ ms) (still ++ M)) <= d.

Lemma Forall2_len : forall (A B : Type) (P : A -> B -> Prop) l m, Forall2 P l m -> length l = length m.
Proof. intros A B P l m H. induction H; simpl; auto. Qed.

(** Lemma 3: for any finite set of corners whose hull, with (0,0) and (1,1), is the region. *)
Theorem worst_at_corners : forall a D M, 1 <= a -> 0 <= D < 1 ->
  (forall v, region a D v <-> hull (still ++ M) v) ->
  forall K t a' d f, rows_hold M K t a' d f -> forall vs, votes a D K t vs -> excess a' f vs <= d.
Proof.
  intros a D M Ha HD HM K t a' d f Hr vs (HK & mask & Hm & Ht).
  assert (H : Forall2 hull (map (fun b : bool => if b then still ++ M else still) mask) vs).
  { clear HK Ht. induction Hm as [| b v mask vs Hv Hm IH]; simpl; constructor; auto.
    destruct b; simpl in Hv.
    - apply HM. apply private_bit_is_region in Hv; auto. lra.
    - apply diagonal_is_hull. auto. }
  destruct (corners_suffice _ _ H (excess a' f) (excess_affine a' f)) as (cs & Hcs & L).
  destruct (multiset_of still M mask cs Hcs) as (ns & ms & Hns & Hms & Hs & Hle & Hp).
  rewrite (excess_symmetric a' f _ _ Hp) in L.
  apply Forall2_len in Hm.
  assert (excess a' f (copies (ns ++ ms) (still ++ M)) <= d) by (apply Hr; auto; lia).
  lra.
Qed.

Lemma copies_votes : forall a D M K t ns ms, 1 <= a -> 0 <= D < 1 ->
  (forall v, region a D v <-> hull (still ++ M) v) -> (forall c, In c M -> region a D c) ->
  length ns = length still -> length ms = length M ->
  (list_sum ns + list_sum ms = K)%nat -> (list_sum ms <= t)%nat ->
  votes a D K t (copies (ns ++ ms) (still ++ M)).
Proof.
  intros a D M K t ns ms Ha HD HM HR Hns Hms HK Ht. split.
  - rewrite copies_length; [| rewrite !app_length; lia].
    rewrite list_sum_app. auto.
  - exists (repeat false (list_sum ns) ++ repeat true (list_sum ms)). split.
    + rewrite copies_app by auto. apply Forall2_app.
      * assert (G : forall C ks, length ks = length C -> (forall c, In c C -> 0 <= fst c <= 1 /\ snd c = fst c) ->
          Forall2 (voter a D) (repeat false (list_sum ks)) (copies ks C)).
        { induction C as [| c C IH]; intros [| k ks] Hl Hc; simpl in *; try discriminate; [constructor |].
          rewrite repeat_app. apply Forall2_app.
          - clear IH Hl. induction k; simpl; constructor; simpl; auto.
          - apply IH; auto. }
        apply G; auto. intros c [<- | [<- | []]]; simpl; lra.
      * assert (G : forall C ks, length ks = length C -> (forall c, In c C -> region a D c) ->
          Forall2 (voter a D) (repeat true (list_sum ks)) (copies ks C)).
        { induction C as [| c C IH]; intros [| k ks] Hl Hc; simpl in *; try discriminate; [constructor |].
          rewrite repeat_app. apply Forall2_app.
          - clear IH Hl. induction k; simpl; constructor; simpl; auto.
            apply private_bit_is_region; auto. lra.
          - apply IH; auto. }
        apply G; auto.
    + unfold affected. rewrite filter_app.
      assert (F : forall n, filter (fun b : bool => b) (repeat false n) = []) by (induction n; simpl; auto).
      assert (T : forall n, filter (fun b : bool => b) (repeat true n) = repeat true n)
        by (induction n; simpl; congruence).
      rewrite F, T. simpl. rewrite repeat_length. auto.
Qed.

(** ** (d) The label is private if and only if the finitely many constraints hold *)

(** The label of the votes [ps] is 1 with probability [accept f ps]. It is private in both directions. *)
Definition label_private (a D : R) (K t : nat) (a' d : R) (f : nat -> R) : Prop :=
  forall vs, votes a D K t vs -> private_bit a' d (accept f (map fst vs), accept f (map snd vs)).

Lemma votes_swap : forall a D K t vs, votes a D K t vs -> votes a D K t (map (fun v => (snd v, fst v)) vs).
Proof.
  intros a D K t vs (HK & mask & Hm & Ht). split; [rewrite map_length; auto |].
  exists mask. split; auto. clear HK Ht.
  induction Hm as [| b [p q] mask vs Hv Hm IH]; simpl; constructor; auto.
  destruct b; simpl in *; [unfold private_bit in *; simpl in *; tauto | lra].
Qed.

Lemma votes_range : forall a D K t vs, votes a D K t vs ->
  Forall (fun p => 0 <= p <= 1) (map fst vs) /\ Forall (fun p => 0 <= p <= 1) (map snd vs).
Proof.
  intros a D K t vs (_ & mask & Hm & _).
  induction Hm as [| b v mask vs Hv Hm IH]; simpl; [auto |].
  destruct IH as [IH1 IH2]. destruct b; simpl in Hv.
  - destruct Hv as (H1 & H2 & _). auto.
  - destruct Hv as (H1 & H2). split; constructor; auto; lra.
Qed.

Lemma private_iff_rows : forall a D M, 1 <= a -> 0 <= D < 1 ->
  (forall v, region a D v <-> hull (still ++ M) v) -> (forall c, In c M -> region a D c) ->
  forall K t a' d f, 1 <= a' -> 0 <= d -> (forall l, (l <= K)%nat -> 0 <= f l <= 1) ->
  (label_private a D K t a' d f <-> rows_hold M K t a' d f /\ rows_hold M K t a' d (other f)).
Proof.
  intros a D M Ha HD HM HR K t a' d f Ha' Hd Hf.
  assert (B : forall vs, votes a D K t vs ->
    0 <= accept f (map fst vs) <= 1 /\ 0 <= accept f (map snd vs) <= 1).
  { intros vs Hv. pose proof (votes_range a D K t vs Hv) as [H H'].
    destruct Hv as [HK _]. split; apply accept_range; auto; rewrite map_length, HK; auto. }
  assert (G : forall vs, votes a D K t vs -> (dp a' d (accept f (map fst vs)) (accept f (map snd vs)) <->
    excess a' f vs <= d /\ excess a' (other f) vs <= d)).
  { intros vs Hv. destruct (B vs Hv) as [_ H].
    rewrite dp_answers by auto. unfold excess. rewrite !accept_other. lra. }
  split.
  - intros H. split; intros ns ms Hns Hms HK Ht;
      (assert (V : votes a D K t (copies (ns ++ ms) (still ++ M))) by (apply copies_votes; auto));
      apply (G _ V); apply (H _ V).
  - intros [H1 H0].
    assert (L : forall vs, votes a D K t vs -> dp a' d (accept f (map fst vs)) (accept f (map snd vs))).
    { intros vs Hv. apply G; auto. split; apply (worst_at_corners a D M Ha HD HM K t); auto. }
    intros vs Hv. destruct (B vs Hv). split; [auto | split; [auto | split; [apply L; auto |]]].
    pose proof (L _ (votes_swap a D K t vs Hv)) as S. rewrite !map_map in S. exact S.
Qed.

(** The constraints that the library lists: six corners besides (0,0) and (1,1), two where [D] is 0. *)
Theorem label_private_iff_rows : forall a D K t a' d f,
  1 <= a -> 0 <= D < 1 -> 1 <= a' -> 0 <= d -> (forall l, (l <= K)%nat -> 0 <= f l <= 1) ->
  (label_private a D K t a' d f <->
   rows_hold (moving a D) K t a' d f /\ rows_hold (moving a D) K t a' d (other f)).
Proof.
  intros a D K t a' d f Ha HD. apply private_iff_rows; auto.
  - intros v. apply region_is_hull; auto.
  - intros c Hc. apply corners_in_region; auto. apply in_or_app. auto.
Qed.

Theorem label_private_iff_rows_pure : forall a K t a' d f,
  1 <= a -> 1 <= a' -> 0 <= d -> (forall l, (l <= K)%nat -> 0 <= f l <= 1) ->
  (label_private a 0 K t a' d f <->
   rows_hold (moving_pure a) K t a' d f /\ rows_hold (moving_pure a) K t a' d (other f)).
Proof.
  intros a K t a' d f Ha. apply private_iff_rows; auto; try lra.
  - intros v. apply region_is_hull_pure; auto.
  - intros c Hc. apply corners_in_region; auto; [lra |]. simpl in *. tauto.
Qed.

(** Lemma 1: a majority's table, [f (K - l) = 1 - f l], needs the constraints of one answer alone. *)
Lemma mirrored_votes : forall a D K t vs, 1 <= a -> 0 <= D -> votes a D K t vs ->
  votes a D K t (map (fun v => (1 - fst v, 1 - snd v)) vs).
Proof.
  intros a D K t vs Ha HD (HK & mask & Hm & Ht). split; [rewrite map_length; auto |].
  exists mask. split; auto. clear HK Ht.
  induction Hm as [| b [p q] mask vs Hv Hm IH]; simpl; constructor; auto.
  destruct b; simpl in *.
  - rewrite private_bit_is_region in * by auto. unfold region in *. lra.
  - lra.
Qed.

Lemma one_answer : forall a D M, 1 <= a -> 0 <= D < 1 ->
  (forall v, region a D v <-> hull (still ++ M) v) -> (forall c, In c M -> region a D c) ->
  forall K t a' d f, (forall l, (l <= K)%nat -> f (K - l)%nat = 1 - f l) ->
  rows_hold M K t a' d f -> rows_hold M K t a' d (other f).
Proof.
  intros a D M Ha HD HM HR K t a' d f Hf H ns ms Hns Hms HK Ht.
  assert (V : votes a D K t (copies (ns ++ ms) (still ++ M))) by (apply copies_votes; auto).
  set (vs := copies (ns ++ ms) (still ++ M)) in *.
  pose proof (worst_at_corners a D M Ha HD HM K t a' d f H _ (mirrored_votes a D K t vs Ha (proj1 HD) V)) as L.
  destruct V as [HL _].
  assert (E : forall side : R * R -> R, accept f (map (fun v => 1 - side v) vs) = accept (other f) (map side vs)).
  { intros side. rewrite <- (map_map side (fun p => 1 - p)), accept_mirror. apply accept_same.
    rewrite map_length, HL. intros l Hl. apply Hf. auto. }
  unfold excess in *. rewrite !map_map in L. simpl in L.
  rewrite (E fst), (E snd) in L. exact L.
Qed.

Theorem majority_private_iff_rows : forall a D K t a' d f,
  1 <= a -> 0 <= D < 1 -> 1 <= a' -> 0 <= d -> (forall l, (l <= K)%nat -> 0 <= f l <= 1) ->
  (forall l, (l <= K)%nat -> f (K - l)%nat = 1 - f l) ->
  (label_private a D K t a' d f <-> rows_hold (moving a D) K t a' d f) /\
  (label_private a 0 K t a' d f <-> rows_hold (moving_pure a) K t a' d f).
Proof.
  intros a D K t a' d f Ha HD Ha' Hd Hf Hs. split.
  - rewrite label_private_iff_rows by auto. split; [tauto |]. intros H. split; auto.
    apply (one_answer a D (moving a D)); auto.
    + intros v. apply region_is_hull; auto.
    + intros c Hc. apply corners_in_region; auto. apply in_or_app. auto.
  - rewrite label_private_iff_rows_pure by auto. split; [tauto |]. intros H. split; auto.
    apply (one_answer a 0 (moving_pure a)); auto; try lra.
    + intros v. apply region_is_hull_pure; auto.
    + intros c Hc. apply corners_in_region; auto; [lra |]. simpl in *. tauto.
Qed.

(** The paper's form: noise [gamma], even about [K / 2], and a fair coin at a tie. *)
Definition sign_of (K l : nat) : R := match Nat.compare (2 * l) K with Lt => -1 | Eq => 0 | Gt => 1 end.
Definition table (K : nat) (gamma : nat -> R) (l : nat) : R := (1 + sign_of K l * gamma l) / 2.

Lemma sign_odd : forall K l, (l <= K)%nat -> sign_of K (K - l) = - sign_of K l.
Proof.
  intros K l H. unfold sign_of.
  destruct (Nat.compare_spec (2 * (K - l)) K), (Nat.compare_spec (2 * l) K); lia || lra.
Qed.

Theorem gamma_private_iff_rows : forall a D K t a' d gamma,
  1 <= a -> 0 <= D < 1 -> 1 <= a' -> 0 <= d ->
  (forall l, (l <= K)%nat -> 0 <= gamma l <= 1 /\ gamma (K - l)%nat = gamma l) ->
  (label_private a D K t a' d (table K gamma) <-> rows_hold (moving a D) K t a' d (table K gamma)) /\
  (label_private a 0 K t a' d (table K gamma) <-> rows_hold (moving_pure a) K t a' d (table K gamma)).
Proof.
  intros a D K t a' d gamma Ha HD Ha' Hd Hg. apply majority_private_iff_rows; auto.
  - intros l Hl. destruct (Hg l Hl). unfold table, sign_of. destruct (Nat.compare (2 * l) K); lra.
  - intros l Hl. destruct (Hg l Hl) as [_ E]. unfold table. rewrite sign_odd, E by auto. lra.
Qed.

(** With [F = sign gamma] in place of the table a row reads as the linear program has it. *)
Theorem row_of_F : forall a' d F vs,
  excess a' (fun l => (1 + F l) / 2) vs <= d <->
  accept F (map fst vs) - a' * accept F (map snd vs) <= a' - 1 + 2 * d.
Proof.
  assert (E : forall ps F, accept (fun l => (1 + F l) / 2) ps = (1 + accept F ps) / 2).
  { induction ps as [| p ps IH]; intros F; [rewrite !accept_nil; reflexivity |].
    rewrite !accept_cons, IH. rewrite (IH (fun l => F (S l))). lra. }
  intros a' d F vs. unfold excess. rewrite !E. lra.
Qed.

(** With [exp epsilon]: the statement of the documents. *)
Corollary label_private_epsilon : forall epsilon D K t epsilon' d f,
  0 <= epsilon -> 0 <= D < 1 -> 0 <= epsilon' -> 0 <= d -> (forall l, (l <= K)%nat -> 0 <= f l <= 1) ->
  (label_private (exp epsilon) D K t (exp epsilon') d f <->
   rows_hold (moving (exp epsilon) D) K t (exp epsilon') d f /\
   rows_hold (moving (exp epsilon) D) K t (exp epsilon') d (other f)).
Proof.
  assert (G : forall x, 0 <= x -> 1 <= exp x).
  { intros x [H | <-]; [| rewrite exp_0; lra]. pose proof (exp_ineq1 x). lra. }
  intros. apply label_private_iff_rows; auto.
Qed.
