CREATE TABLE metadata (
                key TEXT PRIMARY KEY,
                value TEXT NOT NULL
            );
INSERT INTO "metadata" VALUES ('distance_metric', 'cosine');
INSERT INTO "metadata" VALUES ('fts5_enabled', 'true');
INSERT INTO "metadata" VALUES ('schema_version', '19');
INSERT INTO "metadata" VALUES ('sync_hlc_physical', '0');
INSERT INTO "metadata" VALUES ('sync_hlc_logical', '0');
CREATE TABLE memories (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        content_hash TEXT UNIQUE NOT NULL,
                        content TEXT NOT NULL,
                        tags TEXT,
                        memory_type TEXT,
                        metadata TEXT,
                        created_at REAL,
                        updated_at REAL,
                        created_at_iso TEXT,
                        updated_at_iso TEXT,
                        deleted_at REAL DEFAULT NULL
                    , store TEXT DEFAULT 'default', parent_id TEXT, version INTEGER DEFAULT 1, confidence REAL DEFAULT 1.0, last_accessed INTEGER, superseded_by TEXT, embedding_pending INTEGER NOT NULL DEFAULT 0);
INSERT INTO "memories" VALUES (1, 'b284d91388003b8f92a8fe7e614975ae9fc8403e5a03832d1958043826c1c4f7', 'The staging database is refreshed every Sunday', 'staging,database,weekly', 'observation', '{"source": "claude-code", "quality_score": 0.72}', 1762071330.0, 1794821330.0210924, '2025-11-02T08:15:30Z', '2026-11-16T09:28:50.021092Z', NULL, 'default', NULL, 1, 1.0, NULL, NULL, 0);
INSERT INTO "memories" VALUES (2, 'ee30e6801cefb720cb775e3b78af7d23e04971907cf969e19509e255bc47c7cb', 'Decided to use ULIDs for invoice ids; größer und sortierbar', 'billing', 'decision', '{}', 1766599200.0, 1794821330.0111527, '2025-12-24T18:00:00Z', '2026-11-16T09:28:50.011153Z', NULL, 'default', NULL, 1, 1.0, NULL, NULL, 0);
INSERT INTO "memories" VALUES (3, '676e6eb5e8d7c5f20ce03a7a3a1102ee143e51bb978916431d95361c89a94ff9', 'An old note that was deleted', 'old', 'note', '{}', 1759276800.0, 1794821330.0111783, '2025-10-01T00:00:00Z', '2026-11-16T09:28:50.011178Z', 1794821330.0204554, 'default', NULL, 1, 1.0, NULL, NULL, 0);
CREATE TABLE memory_graph (
    source_hash TEXT NOT NULL,
    target_hash TEXT NOT NULL,
    similarity REAL NOT NULL,
    connection_types TEXT NOT NULL,  -- JSON array: ["semantic", "temporal", "causal", "thematic"]
    metadata TEXT,                   -- JSON object: {discovery_date, confidence, context}
    created_at REAL NOT NULL, relationship_type TEXT DEFAULT 'related',
    PRIMARY KEY (source_hash, target_hash)
);
INSERT INTO "memory_graph" VALUES ('b284d91388003b8f92a8fe7e614975ae9fc8403e5a03832d1958043826c1c4f7', 'ee30e6801cefb720cb775e3b78af7d23e04971907cf969e19509e255bc47c7cb', 0.61, '["semantic"]', '{"discovery_method": "creative_association"}', 1767000000.0, 'related');
INSERT INTO "memory_graph" VALUES ('ee30e6801cefb720cb775e3b78af7d23e04971907cf969e19509e255bc47c7cb', 'b284d91388003b8f92a8fe7e614975ae9fc8403e5a03832d1958043826c1c4f7', 0.7, '["causal"]', '{}', 1767000001.0, 'supports');
CREATE TABLE beliefs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    belief_hash TEXT UNIQUE NOT NULL,
    content TEXT NOT NULL,
    confidence REAL NOT NULL DEFAULT 0.5,
    status TEXT NOT NULL DEFAULT 'candidate',  -- candidate, active, disputed, superseded
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    derived_from TEXT NOT NULL DEFAULT '[]',  -- JSON array of observation content_hashes (provenance)
    contradicted_by TEXT NOT NULL DEFAULT '[]',  -- JSON array of observation content_hashes
    metadata TEXT DEFAULT '{}'
);
