CREATE TABLE schema_versions (
        id INTEGER PRIMARY KEY,
        version INTEGER UNIQUE NOT NULL,
        applied_at TEXT NOT NULL
      );
INSERT INTO "schema_versions" VALUES (1, 4, '2026-11-16T09:29:40.680Z');
INSERT INTO "schema_versions" VALUES (2, 5, '2026-11-16T09:29:40.682Z');
INSERT INTO "schema_versions" VALUES (3, 6, '2026-11-16T09:29:40.683Z');
INSERT INTO "schema_versions" VALUES (4, 7, '2026-11-16T09:29:40.685Z');
INSERT INTO "schema_versions" VALUES (5, 8, '2026-11-16T09:29:40.686Z');
INSERT INTO "schema_versions" VALUES (6, 9, '2026-11-16T09:29:40.687Z');
INSERT INTO "schema_versions" VALUES (7, 10, '2026-11-16T09:29:40.688Z');
INSERT INTO "schema_versions" VALUES (8, 11, '2026-11-16T09:29:40.689Z');
INSERT INTO "schema_versions" VALUES (9, 16, '2026-11-16T09:29:40.690Z');
INSERT INTO "schema_versions" VALUES (10, 17, '2026-11-16T09:29:40.690Z');
INSERT INTO "schema_versions" VALUES (11, 20, '2026-11-16T09:29:40.691Z');
INSERT INTO "schema_versions" VALUES (12, 21, '2026-11-16T09:29:40.691Z');
INSERT INTO "schema_versions" VALUES (13, 22, '2026-11-16T09:29:40.692Z');
INSERT INTO "schema_versions" VALUES (14, 23, '2026-11-16T09:29:40.693Z');
INSERT INTO "schema_versions" VALUES (15, 24, '2026-11-16T09:29:40.693Z');
INSERT INTO "schema_versions" VALUES (16, 26, '2026-11-16T09:29:40.694Z');
INSERT INTO "schema_versions" VALUES (17, 27, '2026-11-16T09:29:40.697Z');
INSERT INTO "schema_versions" VALUES (18, 29, '2026-11-16T09:29:40.697Z');
INSERT INTO "schema_versions" VALUES (19, 30, '2026-11-16T09:29:40.698Z');
INSERT INTO "schema_versions" VALUES (20, 31, '2026-11-16T09:29:40.699Z');
INSERT INTO "schema_versions" VALUES (21, 28, '2026-11-16T09:29:40.700Z');
INSERT INTO "schema_versions" VALUES (22, 32, '2026-11-16T09:29:40.701Z');
INSERT INTO "schema_versions" VALUES (23, 33, '2026-11-16T09:29:40.701Z');
INSERT INTO "schema_versions" VALUES (24, 34, '2026-11-16T09:29:40.704Z');
INSERT INTO "schema_versions" VALUES (25, 35, '2026-11-16T09:29:40.704Z');
INSERT INTO "schema_versions" VALUES (26, 39, '2026-11-16T09:29:40.706Z');
INSERT INTO "schema_versions" VALUES (27, 41, '2026-11-16T09:29:40.710Z');
INSERT INTO "schema_versions" VALUES (28, 42, '2026-11-16T09:29:40.710Z');
INSERT INTO "schema_versions" VALUES (29, 44, '2026-11-16T09:29:40.711Z');
INSERT INTO "schema_versions" VALUES (30, 45, '2026-11-16T09:29:40.711Z');
INSERT INTO "schema_versions" VALUES (31, 46, '2026-11-16T09:29:40.712Z');
INSERT INTO "schema_versions" VALUES (32, 47, '2026-11-16T09:29:40.713Z');
INSERT INTO "schema_versions" VALUES (33, 48, '2026-11-16T09:29:40.713Z');
INSERT INTO "schema_versions" VALUES (34, 49, '2026-11-16T09:29:40.714Z');
INSERT INTO "schema_versions" VALUES (35, 50, '2026-11-16T09:29:40.715Z');
INSERT INTO "schema_versions" VALUES (36, 51, '2026-11-16T09:29:40.716Z');
INSERT INTO "schema_versions" VALUES (37, 52, '2026-11-16T09:29:40.716Z');
CREATE TABLE sdk_sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        content_session_id TEXT NOT NULL,
        memory_session_id TEXT UNIQUE,
        project TEXT NOT NULL,
        platform_source TEXT NOT NULL DEFAULT 'claude',
        user_prompt TEXT,
        started_at TEXT NOT NULL,
        started_at_epoch INTEGER NOT NULL,
        completed_at TEXT,
        completed_at_epoch INTEGER,
        status TEXT CHECK(status IN ('active', 'completed', 'failed')) NOT NULL DEFAULT 'active'
      , worker_port INTEGER, prompt_counter INTEGER DEFAULT 0, custom_title TEXT, observed_model TEXT, observed_billing TEXT);
INSERT INTO "sdk_sessions" VALUES (1, 'content-1', 'memory-1', 'billing', 'claude', 'Fix the flaky invoice test', '2026-11-16T09:29:40.716Z', 1794821380716, NULL, NULL, 'active', NULL, 0, NULL, NULL, NULL);
CREATE TABLE "session_summaries" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        request TEXT,
        investigated TEXT,
        learned TEXT,
        completed TEXT,
        next_steps TEXT,
        files_read TEXT,
        files_edited TEXT,
        notes TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, merged_into_project TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO "session_summaries" VALUES (1, 'memory-1', 'billing', 'Fix the flaky invoice test', 'The test and the clock', 'The test slept', 'The clock is injected', 'Look at the other sleeps', '[]', '[]', NULL, 1, '2026-03-04T10:23:30.000Z', 1772619810000, 30, NULL, NULL, NULL, NULL, '1');
CREATE TABLE "observations" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        text TEXT,
        type TEXT NOT NULL,
        title TEXT,
        subtitle TEXT,
        facts TEXT,
        narrative TEXT,
        concepts TEXT,
        files_read TEXT,
        files_modified TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, content_hash TEXT, generated_by_model TEXT, relevance_count INTEGER DEFAULT 0, merged_into_project TEXT, agent_type TEXT, agent_id TEXT, metadata TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO "observations" VALUES (1, 'memory-1', 'billing', NULL, 'bugfix', 'Invoice test waited for a clock', 'The test slept instead of injecting the time', '["The clock is injected now","The test takes 40 ms"]', 'The invoice test slept for a second and failed on slow machines.', '["problem-solution","testing"]', '["tests/test_invoice.py"]', '["src/invoice.py"]', 1, '2026-03-04T10:20:30.000Z', 1772619630000, 120, '71ab2bdc0948a7b1', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
INSERT INTO "observations" VALUES (2, 'memory-1', 'billing', NULL, 'discovery', 'Größe der Rechnung', NULL, '[]', NULL, '["how-it-works"]', '["docs/invoice.md"]', '[]', 1, '2026-03-04T10:21:30.000Z', 1772619690000, 60, 'ed0a07332d1fec8e', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
INSERT INTO "observations" VALUES (3, 'memory-1', 'billing', NULL, 'decision', 'Use ULIDs', 'Sortable', '["Invoices get ULIDs"]', 'They sort by time.', '["trade-off"]', '[]', '[]', 1, '2026-03-04T10:22:30.000Z', 1772619750000, 60, '86d60a4b3795e65c', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
CREATE TABLE "user_prompts" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_db_id INTEGER,
        content_session_id TEXT NOT NULL,
        prompt_number INTEGER NOT NULL,
        prompt_text TEXT NOT NULL,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(session_db_id) REFERENCES sdk_sessions(id) ON DELETE CASCADE
      );
INSERT INTO "user_prompts" VALUES (1, 1, 'content-1', 1, 'Fix the flaky invoice test', '2026-11-16T09:29:40.726Z', 1794821380726, NULL, NULL, NULL, '1');
