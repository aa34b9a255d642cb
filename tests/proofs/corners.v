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
