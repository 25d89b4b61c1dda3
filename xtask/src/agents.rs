//! The real agents, at the versions the tests know, installed once and outside the checkout.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::node;

/// What is installed: the name of its folder, the package, and the program in it.
struct Agent {
    folder: &'static str,
    package: &'static str,
    version: &'static str,
    program: &'static str,
    link: &'static str,
}

/// The packages for this processor that the vendors' own packages pull in. They hold the program and nothing that needs Node.
const AGENTS: &[Agent] = &[
    Agent {
        folder: "claude",
        package: if cfg!(target_arch = "aarch64") {
            "@anthropic-ai/claude-code-linux-arm64"
        } else {
            "@anthropic-ai/claude-code-linux-x64"
        },
        version: "2.1.325",
        program: "claude",
        link: "claude",
    },
    Agent {
        folder: "codex",
        package: "@openai/codex",
        version: if cfg!(target_arch = "aarch64") { "0.166.0-linux-arm64" } else { "0.166.0-linux-x64" },
        program: CODEX_PROGRAM,
        link: "codex",
    },
    // The oldest one that the daemon takes.
    Agent {
        folder: "codex-oldest",
        package: "@openai/codex",
        version: if cfg!(target_arch = "aarch64") { "0.158.0-linux-arm64" } else { "0.158.0-linux-x64" },
        program: CODEX_PROGRAM,
        link: "codex",
    },
];

const CODEX_PROGRAM: &str = if cfg!(target_arch = "aarch64") {
    "vendor/aarch64-unknown-linux-musl/bin/codex"
} else {
    "vendor/x86_64-unknown-linux-musl/bin/codex"
};

/// Installs what is missing, and says where everything is.
pub(crate) fn install() -> Result<PathBuf> {
    let home = cache()?;
    for agent in AGENTS {
        let folder = home.join(agent.folder);
        let stamp = folder.join("version");
        let wanted = format!("{} {}", agent.package, agent.version);
        if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) && folder.join(agent.link).exists() {
            continue;
        }
        println!("installing {} {} into {}", agent.package, agent.version, folder.display());
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
        let package = format!("package@npm:{}@{}", agent.package, agent.version);
        let flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--force"];
        node::npm_in(&folder, &[&["install", &package], &flags[..]].concat(), &[])?;
        let program = folder.join("node_modules/package").join(agent.program);
        ensure!(program.is_file(), "{} has no program {}", agent.package, agent.program);
        make_executable(&program)?;
        drop(std::fs::remove_file(folder.join(agent.link)));
        std::os::unix::fs::symlink(&program, folder.join(agent.link))?;
        std::fs::write(stamp, wanted)?;
    }
    Ok(home)
}

fn make_executable(program: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn cache() -> Result<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let given = var("TURNLOOM_AGENTS");
    let cache = var("XDG_CACHE_HOME").or_else(|| var("HOME").map(|home| home.join(".cache")));
    let home = given.or_else(|| cache.map(|cache| cache.join("turnloom/agents")));
    let home = home.context("set HOME or TURNLOOM_AGENTS, so that agents can be installed somewhere")?;
    std::fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    Ok(home)
}
