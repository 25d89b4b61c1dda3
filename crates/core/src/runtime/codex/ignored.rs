//! Notifications that are understood and not worth an event. What is neither handled nor here is kept as unparsed, so that a new version of
//! Codex shows itself.

/// About this host's own settings, other windows, accounts, or things that an item says better.
const IGNORED: &[&str] = &[
    "account/gatewayOAuth/changed",
    "account/login/completed",
    "account/rateLimits/updated",
    "account/updated",
    "app/list/updated",
    "autoApprovalReview/strictReviewRequired",
    "command/exec/outputDelta",
    "configWarning",
    "deprecationNotice",
    "externalAgentConfig/import/completed",
    "externalAgentConfig/import/progress",
    "fs/changed",
    "fuzzyFileSearch/sessionCompleted",
    "fuzzyFileSearch/sessionUpdated",
    // `item/autoApprovalReview/completed` says the same with more detail.
    "guardianWarning",
    "hook/started",
    "item/autoApprovalReview/started",
    // Half of a patch, with relative paths; its item says all of it.
    "item/fileChange/patchUpdated",
    "mcpServer/event/stream/notification",
    "mcpServer/oauthLogin/completed",
    "model/safetyBuffering/updated",
    "model/verification",
    "modelProvider/authRecoveryCompleted",
    "modelProvider/authRecoveryStarted",
    "process/exited",
    "process/outputDelta",
    "project/changed",
    "rawResponse/completed",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/archived",
    "thread/attachment/updated",
    // The item `contextCompaction` has taken its place.
    "thread/compacted",
    "thread/environment/connected",
    "thread/environment/disconnected",
    "thread/goal/cleared",
    "thread/goal/updated",
    "thread/prediction/updated",
    "thread/project/updated",
    "thread/queue/changed",
    "thread/readState/changed",
    // The answer to the request says it.
    "thread/reverted",
    "thread/started",
    "thread/unarchived",
    "turn/moderationMetadata",
    "windows/worldWritableWarning",
    "windowsSandbox/setupCompleted",
];

pub(super) fn is_ignored(method: &str) -> bool {
    IGNORED.contains(&method) || method.starts_with("thread/realtime/")
}
