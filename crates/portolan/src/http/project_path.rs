//! The addresses of the projects of a server: `/projects/<name>/…`.

/// The beginning of the paths of projects.
pub(crate) const PROJECTS: &str = "/projects";
/// The most characters of a project's name.
const MAX_NAME: usize = 128;

/// Splits a path into the name of its project and the rest. `None` if it is not the path of a project.
///
/// Nothing is decoded: a name has no characters that would have to be encoded.
pub(crate) fn split(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix(PROJECTS)?.strip_prefix('/')?;
    let (name, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
    is_project_name(name).then_some((name, rest))
}

/// Checks whether a folder of this name can be a project. Hidden folders, `.` and `..` cannot.
pub(crate) fn is_project_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && name.len() <= MAX_NAME && !name.starts_with('.') && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_those_of_projects() {
        for (path, expected) in [
            ("/projects/a/mcp", Some(("a", "/mcp"))),
            ("/projects/a.b-c_1/mcp/tasks", Some(("a.b-c_1", "/mcp/tasks"))),
            ("/projects/a", Some(("a", ""))),
            ("/projects/", None),
            ("/projects", None),
            ("/projectsa/mcp", None),
            ("/projects/../mcp", None),
            ("/projects/.hidden/mcp", None),
            ("/projects/..%2fb/mcp", None),
            ("/projects/a%2fb/mcp", None),
            ("/projects//mcp", None),
            ("/mcp", None),
        ] {
            assert_eq!(split(path), expected, "{path}");
        }
    }
}
