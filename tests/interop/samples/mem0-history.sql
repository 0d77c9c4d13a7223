CREATE TABLE history (
                        id           TEXT PRIMARY KEY,
                        memory_id    TEXT,
                        old_memory   TEXT,
                        new_memory   TEXT,
                        event        TEXT,
                        created_at   DATETIME,
                        updated_at   DATETIME,
                        is_deleted   INTEGER,
                        actor_id     TEXT,
                        role         TEXT
                    );
INSERT INTO "history" VALUES ('7b00b579-01e6-4169-acde-2063b1daf8ff', '634274de-54da-437d-a4e9-c5b3684e71e0', NULL, 'Is vegetarian and allergic to nuts', 'ADD', '2026-11-16T09:28:54.016796+00:00', '2026-11-16T09:28:54.016796+00:00', 0, NULL, 'user');
INSERT INTO "history" VALUES ('884b17b9-1c17-4ec1-8f7c-3fa0e1a27c03', '9b7ab107-0baf-4e14-b0f2-1d7223058e1d', NULL, 'Likes hiking in the Alps — größte Freude', 'ADD', '2026-11-16T09:28:54.022939+00:00', '2026-11-16T09:28:54.022939+00:00', 0, NULL, 'user');
INSERT INTO "history" VALUES ('ce8e7de9-5786-493f-883b-b7a1653cb044', '866b1588-61b4-429f-b3ec-62fca6349701', NULL, 'Works at Initech', 'ADD', '2026-11-16T09:28:54.027262+00:00', '2026-11-16T09:28:54.027262+00:00', 0, NULL, 'user');
INSERT INTO "history" VALUES ('9b5f5b47-e8d1-41ef-bc55-6e949c8c3b4b', '9b7ab107-0baf-4e14-b0f2-1d7223058e1d', 'Likes hiking in the Alps — größte Freude', 'Likes hiking in the Dolomites', 'UPDATE', '2026-11-16T09:28:54.022939+00:00', '2026-11-16T09:28:54.030279+00:00', 0, NULL, 'user');
INSERT INTO "history" VALUES ('857467ac-936d-4a9a-9b59-9eccf40acaed', '866b1588-61b4-429f-b3ec-62fca6349701', 'Works at Initech', NULL, 'DELETE', '2026-11-16T09:28:54.027262+00:00', '2026-11-16T09:28:54.039043+00:00', 1, NULL, 'user');
INSERT INTO "history" VALUES ('ca0447ec-67f8-400d-be1e-641e0c0b9134', 'b01c9933-5d3d-4214-a7d1-04580db31407', NULL, 'I moved to Porto last week', 'ADD', '2026-11-16T09:28:54.041202+00:00', '2026-11-16T09:28:54.041202+00:00', 0, NULL, 'user');
INSERT INTO "history" VALUES ('7b916e8a-992f-416f-a38a-88d43a13cf4e', '8fd76e86-2f71-4d0b-9eeb-3fc5ed306fae', NULL, 'Noted', 'ADD', '2026-11-16T09:28:54.044158+00:00', '2026-11-16T09:28:54.044158+00:00', 0, NULL, 'assistant');
CREATE TABLE messages (
                        id TEXT PRIMARY KEY,
                        session_scope TEXT,
                        role TEXT,
                        content TEXT,
                        name TEXT,
                        created_at DATETIME
                    );
