//! placeholder
pub fn main() -> std::process::ExitCode {
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    rt.block_on(async {
        let data = std::path::PathBuf::from(std::env::args().skip_while(|a| a != "--data").nth(1).unwrap());
        let d = crate::daemon::Daemon::start(crate::daemon::Options {
            config: crate::config::Config { port: 0, ..crate::config::Config::read(None, &data).unwrap() },
            data,
            token: crate::daemon::Token::Kept,
            program: std::env::current_exe().unwrap(),
        })
        .await
        .unwrap();
        println!("{}", d.url());
        tokio::signal::ctrl_c().await.unwrap();
        d.stop().await.unwrap();
    });
    std::process::ExitCode::SUCCESS
}
