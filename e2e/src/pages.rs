//! Extracts code from documentation pages, so that tests can apply it.

/// Returns the YAML blocks of a page, without the indentation of their fences.
#[must_use]
pub fn yaml_blocks(text: &str) -> Vec<String> {
    blocks(text, "yaml")
}

/// Returns the blocks of a page in one language, without the indentation of their fences.
#[must_use]
pub fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}");
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        open = match open.take() {
            None if trimmed == fence => Some((line.len() - trimmed.len(), String::new())),
            None => None,
            Some((_, block)) if trimmed == "```" => {
                blocks.push(block);
                None
            }
            Some((indent, block)) => Some((indent, block + line.get(indent..).unwrap_or_default() + "\n")),
        };
    }
    blocks
}

/// Returns the code lines of a page: between fences of any language, or indented by four spaces.
pub fn code(text: &str) -> impl Iterator<Item = String> {
    let mut is_fenced = false;
    text.lines().filter_map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        let is_code = !is_fence && (is_fenced || line.starts_with("    "));
        is_code.then(|| line.to_owned())
    })
}
