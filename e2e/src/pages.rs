//! Pages of documentation whose YAML is tested.
//!
//! It knows Markdown's fences and nothing of what stands between them.

/// The YAML blocks of a page, without the indentation of their fences.
#[must_use]
pub fn yaml_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        open = match open.take() {
            None if trimmed == "```yaml" => Some((line.len() - trimmed.len(), String::new())),
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
