-- A session and one of its sub-agent, as OpenCode 1.15 keeps them in opencode.db.
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL, directory TEXT NOT NULL, title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
INSERT INTO session VALUES ('ses_main', 'p1', NULL, 'quick-otter', '/home/dev/code/scheduler', 'Queues', '1.15.11', 1777885200000, 1777885209000);
INSERT INTO session VALUES ('ses_child', 'p1', 'ses_main', 'calm-otter', '/home/dev/code/scheduler', 'Look up (@explore subagent)', '1.15.11', 1777885202000, 1777885203000);
INSERT INTO message VALUES ('msg_1', 'ses_main', 1777885200000, 1777885200000, '{"role":"user","time":{"created":1777885200000},"agent":"build"}');
INSERT INTO message VALUES ('msg_2', 'ses_main', 1777885201000, 1777885202000, '{"role":"assistant","time":{"created":1777885201000,"completed":1777885202000},"path":{"cwd":"/home/dev/code/scheduler","root":"/"},"modelID":"m","providerID":"p"}');
INSERT INTO message VALUES ('msg_3', 'ses_main', 1777885204000, 1777885204000, '{"role":"user","time":{"created":1777885204000},"agent":"build"}');
INSERT INTO message VALUES ('msg_4', 'ses_main', 1777885205000, 1777885205000, '{"role":"assistant","time":{"created":1777885205000},"modelID":"m","providerID":"p"}');
INSERT INTO message VALUES ('msg_9', 'ses_child', 1777885202000, 1777885203000, '{"role":"user","time":{"created":1777885202000}}');
INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_main', 1, 1, '{"type":"text","text":"We use Redis streams for the queue."}');
INSERT INTO part VALUES ('prt_2', 'msg_2', 'ses_main', 2, 2, '{"type":"reasoning","text":"Always use lists."}');
INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_main', 3, 3, '{"type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{},"output":"Always use lists."}}');
INSERT INTO part VALUES ('prt_4', 'msg_2', 'ses_main', 4, 4, '{"type":"text","text":"The queue is a stream now."}');
INSERT INTO part VALUES ('prt_5', 'msg_3', 'ses_main', 5, 5, '{"type":"text","text":"Never trim a stream without a consumer group."}');
INSERT INTO part VALUES ('prt_6', 'msg_4', 'ses_main', 6, 6, '{"type":"text","text":"I am abou"}');
INSERT INTO part VALUES ('prt_9', 'msg_9', 'ses_child', 9, 9, '{"type":"text","text":"Always use the index for this."}');
