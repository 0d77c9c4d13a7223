-- Two composers and a child of the first, as the Cursor editor keeps them in state.vscdb.
CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
INSERT INTO cursorDiskKV VALUES ('composerData:comp-1', '{"_v":10,"composerId":"comp-1","createdAt":1777885200000,"lastUpdatedAt":1777885300000,"status":"completed","isAgentic":true,"name":"Colours","subComposerIds":["comp-2"],"fullConversationHeadersOnly":[{"bubbleId":"b1","type":1},{"bubbleId":"b2","type":2},{"bubbleId":"b3","type":2},{"bubbleId":"b4","type":2}]}');
INSERT INTO cursorDiskKV VALUES ('composerData:comp-2', '{"_v":10,"composerId":"comp-2","status":"completed","fullConversationHeadersOnly":[{"bubbleId":"b9","type":1}]}');
INSERT INTO cursorDiskKV VALUES ('composerData:comp-3', '{"_v":1,"composerId":"comp-3","status":"completed","conversation":[{"bubbleId":"o1","type":1,"text":"My editor is set to two spaces."},{"bubbleId":"o2","type":2,"text":"Good."}]}');
INSERT INTO cursorDiskKV VALUES ('composerData:comp-4', NULL);
INSERT INTO cursorDiskKV VALUES ('bubbleId:comp-1:b1', '{"_v":3,"bubbleId":"b1","type":1,"text":"We decided to take all colours from the design tokens.","createdAt":"2026-05-04T09:00:00.000Z"}');
INSERT INTO cursorDiskKV VALUES ('bubbleId:comp-1:b2', '{"_v":3,"bubbleId":"b2","type":2,"text":"","capabilityType":30,"thinking":{"text":"Always use hex values."}}');
INSERT INTO cursorDiskKV VALUES ('bubbleId:comp-1:b3', '{"_v":3,"bubbleId":"b3","type":2,"text":"","toolFormerData":{"name":"read_file","result":"Always use hex values."}}');
INSERT INTO cursorDiskKV VALUES ('bubbleId:comp-1:b4', '{"_v":3,"bubbleId":"b4","type":2,"text":"All colours come from tokens.","createdAt":"2026-05-04T09:00:20.000Z"}');
INSERT INTO cursorDiskKV VALUES ('bubbleId:comp-2:b9', '{"_v":3,"bubbleId":"b9","type":1,"text":"Always use the search tool."}');
