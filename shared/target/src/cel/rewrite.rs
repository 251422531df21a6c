//! The shape of a parsed expression: how deep it is, and our own equality put in the place of cel's.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, operators};

use crate::cel::equal::{CONTAINS, EQUALS};

/// Whether operations nest deeper than so many levels.
pub(super) fn is_deeper_than(expression: &IdedExpr, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return true };
    let deep = |expression: &IdedExpr| is_deeper_than(expression, below);
    match &expression.expr {
        Expr::Call(call) => call.target.as_deref().is_some_and(deep) || call.args.iter().any(deep),
        Expr::Comprehension(comprehension) => [
            &comprehension.iter_range,
            &comprehension.accu_init,
            &comprehension.loop_cond,
            &comprehension.loop_step,
            &comprehension.result,
        ]
        .into_iter()
        .any(deep),
        Expr::List(list) => list.elements.iter().any(deep),
        Expr::Map(map) => map.entries.iter().any(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => deep(&entry.key) || deep(&entry.value),
            EntryExpr::StructField(_) => false,
        }),
        Expr::Select(select) => deep(&select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => false,
    }
}

/// Puts our own equality and membership in the place of cel's.
pub(super) fn redirect(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            if let Some(target) = &mut call.target {
                redirect(target);
            }
            call.args.iter_mut().for_each(redirect);
            match call.func_name.as_str() {
                operators::EQUALS => EQUALS.clone_into(&mut call.func_name),
                operators::IN => CONTAINS.clone_into(&mut call.func_name),
                operators::NOT_EQUALS => {
                    let args = std::mem::take(&mut call.args);
                    let equals = Expr::Call(CallExpr { func_name: EQUALS.to_owned(), target: None, args });
                    operators::LOGICAL_NOT.clone_into(&mut call.func_name);
                    call.args = vec![IdedExpr { id: expression.id, expr: equals }];
                }
                _ => {}
            }
        }
        Expr::Comprehension(comprehension) => {
            redirect(&mut comprehension.iter_range);
            redirect(&mut comprehension.accu_init);
            redirect(&mut comprehension.loop_cond);
            redirect(&mut comprehension.loop_step);
            redirect(&mut comprehension.result);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(redirect),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    redirect(&mut entry.key);
                    redirect(&mut entry.value);
                }
            }
        }
        Expr::Select(select) => redirect(&mut select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}
