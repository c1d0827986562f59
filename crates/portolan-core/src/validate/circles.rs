//! Finds the cycles of a graph for all nodes at once: a search per node would cost the square of the graph.

/// Returns a number for each node; nodes on a common cycle share it, and a node on none has a number of its own.
///
/// `next` holds the successors of each node.
pub(super) fn circles(next: &[Vec<usize>]) -> Vec<usize> {
    let mut before = vec![Vec::new(); next.len()];
    for (node, following) in next.iter().enumerate() {
        for &other in following {
            before[other].push(node);
        }
    }
    let mut circle_of = vec![usize::MAX; next.len()];
    for first in left_last(next) {
        let mut waiting = vec![first];
        while let Some(node) = waiting.pop() {
            if circle_of[node] == usize::MAX {
                circle_of[node] = first;
                waiting.extend(&before[node]);
            }
        }
    }
    circle_of
}

/// Returns the nodes in reverse postorder of a depth-first search.
fn left_last(next: &[Vec<usize>]) -> Vec<usize> {
    let mut left = Vec::with_capacity(next.len());
    let mut visited = vec![false; next.len()];
    for first in 0..next.len() {
        let mut walk = Vec::new();
        if !std::mem::replace(&mut visited[first], true) {
            walk.push((first, 0));
        }
        while let Some((node, at)) = walk.pop() {
            let Some(&other) = next[node].get(at) else {
                left.push(node);
                continue;
            };
            walk.push((node, at + 1));
            if !std::mem::replace(&mut visited[other], true) {
                walk.push((other, 0));
            }
        }
    }
    left.reverse();
    left
}

#[cfg(test)]
mod tests {
    use super::circles;

    #[test]
    fn two_circles_and_the_way_between_them() {
        // 0 ⇄ 1 → 2 → 3 → 4 → 3, and 5 → 5.
        let circle = circles(&[vec![1], vec![0, 2], vec![3], vec![4], vec![3], vec![5]]);
        assert_eq!(circle[0], circle[1]);
        assert_eq!(circle[3], circle[4]);
        let apart = [circle[0], circle[2], circle[3], circle[5]];
        assert!((0..4).all(|one| (0..one).all(|other| apart[one] != apart[other])), "{circle:?}");
    }
}
