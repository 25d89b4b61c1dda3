// The worker that has the connection; see the SDK.

import 'turnloom/worker'
