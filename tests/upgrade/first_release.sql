PRAGMA application_id = 1348564844;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE accepted_layers (
  run_id TEXT NOT NULL,
  merge_seq INTEGER NOT NULL CHECK (merge_seq >= 1),
  phase_id TEXT NOT NULL,
  layer_id TEXT NOT NULL,
  PRIMARY KEY (run_id, merge_seq),
  UNIQUE (run_id, phase_id),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "accepted_layers" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7',1,'one','b284f1a644eb64182769e155863741149bfb3164e2371685058f90097cafc08c');
CREATE TABLE attempts (
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  number INTEGER NOT NULL CHECK (number >= 1),
  attempt_id TEXT NOT NULL CHECK (attempt_id = phase_id || '.' || number),
  revision INTEGER NOT NULL,
  model TEXT NOT NULL,
  base_layers TEXT NOT NULL,
  agent_layer TEXT NOT NULL DEFAULT '',
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL DEFAULT '',
  finished INTEGER NOT NULL DEFAULT 0 CHECK (finished IN (0, 1)),
  verdict TEXT NOT NULL DEFAULT ''
    CHECK (verdict = '' OR verdict = 'passed' OR verdict = 'failed_retryable' OR verdict = 'failed_unrecoverable'
      OR verdict = 'escalate' OR verdict = 'cancelled'),
  signals TEXT NOT NULL DEFAULT '',
  failing_signals TEXT NOT NULL DEFAULT '[]',
  summary TEXT NOT NULL DEFAULT '',
  feedback TEXT NOT NULL DEFAULT '',
  executor TEXT NOT NULL DEFAULT '',
  build TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (run_id, phase_id, number),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id),
  CHECK ((finished = 1) = (verdict <> ''))
) STRICT, WITHOUT ROWID;
INSERT INTO "attempts" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',1,'one.1',0,'small','[]','860cff054a15c3990a7c08460f089d0b1f4f1271075cd196365f01a09f62ea45','2026-11-22T13:22:33.257361Z','2026-11-22T13:22:33.478623Z',1,'failed_retryable','[{"details":{"exit_code":0,"outcome":"exited"},"gate_id":"agent","kind":"agent","missing":false,"passed":true},{"details":{"exit_code":1,"outcome":"exited","step":"unit"},"gate_id":"check","kind":"build","missing":false,"passed":false}]','["check.build"]','FAILED check.build
  exit_code: 1
  outcome: exited
  step: unit
','{"attempt":1,"evidence":["/pawl/evidence/previous.patch"],"failing_signals":["check.build"],"summary":"FAILED check.build\n  exit_code: 1\n  outcome: exited\n  step: unit\n","verdict":"failed_retryable"}','first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16295/6716835/0','0.1.0');
INSERT INTO "attempts" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',2,'one.2',0,'large','[]','b284f1a644eb64182769e155863741149bfb3164e2371685058f90097cafc08c','2026-11-22T13:22:33.479930Z','2026-11-22T13:22:33.699919Z',1,'passed','[{"details":{"exit_code":0,"outcome":"exited"},"gate_id":"agent","kind":"agent","missing":false,"passed":true},{"details":{"exit_code":0,"outcome":"exited","step":"unit"},"gate_id":"check","kind":"build","missing":false,"passed":true}]','[]','','','first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16295/6716835/0','0.1.0');
INSERT INTO "attempts" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',1,'one.1',0,'small','[]','96214d2f464f75f27ae30339825d1687c27863c060b0bb716f2311999ec1113a','2026-11-22T13:22:33.731839Z','2026-11-22T13:22:33.754134Z',1,'failed_retryable','[{"details":{"exit_code":0,"outcome":"exited"},"gate_id":"agent","kind":"agent","missing":false,"passed":true},{"details":{"exit_code":1,"outcome":"exited","step":"unit"},"gate_id":"check","kind":"build","missing":false,"passed":false}]','["check.build"]','FAILED check.build
  exit_code: 1
  outcome: exited
  step: unit
','{"attempt":1,"evidence":["/pawl/evidence/previous.patch"],"failing_signals":["check.build"],"summary":"FAILED check.build\n  exit_code: 1\n  outcome: exited\n  step: unit\n","verdict":"failed_retryable"}','first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16318/6716882/0','0.1.0');
INSERT INTO "attempts" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',2,'one.2',0,'large','[]','96214d2f464f75f27ae30339825d1687c27863c060b0bb716f2311999ec1113a','2026-11-22T13:22:33.755706Z','2026-11-22T13:22:33.774401Z',1,'escalate','[{"details":{"exit_code":0,"outcome":"exited"},"gate_id":"agent","kind":"agent","missing":false,"passed":true},{"details":{"exit_code":1,"outcome":"exited","step":"unit"},"gate_id":"check","kind":"build","missing":false,"passed":false}]','["check.build"]','FAILED check.build
  exit_code: 1
  outcome: exited
  step: unit
','{"attempt":2,"evidence":["/pawl/evidence/previous.patch"],"failing_signals":["check.build"],"summary":"FAILED check.build\n  exit_code: 1\n  outcome: exited\n  step: unit\n","verdict":"escalate"}','first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16318/6716882/0','0.1.0');
INSERT INTO "attempts" VALUES('01a2036c-38c7-7837-a9bc-6dabf3420713','one',1,'one.1',0,'small','[]','','2026-11-22T13:22:33.806176Z','',0,'','','[]','','','first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16337/6716890/0','');
CREATE TABLE cost (
  cost_seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  sandbox_run_id TEXT NOT NULL UNIQUE REFERENCES steps (sandbox_run_id),
  line TEXT NOT NULL
) STRICT;
INSERT INTO "cost" VALUES(1,'01a2036c-36a4-7605-9abf-6fe9695f0ec7','01a2036c-36ab-758f-b1cb-ffe24779cbdf','{"backend":"namespace","build_cache_hit":false,"emitted_at":"2026-11-22T13:22:33.469422Z","entry_type":"cost.sandbox.run","gate_id":"agent","gate_isolation_class":"shared_kernel","image_pull_bytes":0,"microvm_seconds":0.000,"run_id":"01a2036c-36a4-7605-9abf-6fe9695f0ec7","sandbox_run_id":"01a2036c-36ab-758f-b1cb-ffe24779cbdf","workflow_id":"whole"}');
INSERT INTO "cost" VALUES(2,'01a2036c-36a4-7605-9abf-6fe9695f0ec7','01a2036c-377d-7238-b538-7a23787ec2ae','{"backend":"namespace","build_cache_hit":false,"emitted_at":"2026-11-22T13:22:33.478405Z","entry_type":"cost.sandbox.run","gate_id":"check","gate_isolation_class":"shared_kernel","image_pull_bytes":0,"microvm_seconds":0.000,"run_id":"01a2036c-36a4-7605-9abf-6fe9695f0ec7","sandbox_run_id":"01a2036c-377d-7238-b538-7a23787ec2ae","workflow_id":"whole"}');
INSERT INTO "cost" VALUES(3,'01a2036c-36a4-7605-9abf-6fe9695f0ec7','01a2036c-3788-78f0-a9a4-a7b68245e8d5','{"backend":"namespace","build_cache_hit":false,"emitted_at":"2026-11-22T13:22:33.690965Z","entry_type":"cost.sandbox.run","gate_id":"agent","gate_isolation_class":"shared_kernel","image_pull_bytes":0,"microvm_seconds":0.000,"run_id":"01a2036c-36a4-7605-9abf-6fe9695f0ec7","sandbox_run_id":"01a2036c-3788-78f0-a9a4-a7b68245e8d5","workflow_id":"whole"}');
INSERT INTO "cost" VALUES(4,'01a2036c-36a4-7605-9abf-6fe9695f0ec7','01a2036c-385b-7fdc-92c0-948139b70297','{"backend":"namespace","build_cache_hit":false,"emitted_at":"2026-11-22T13:22:33.699785Z","entry_type":"cost.sandbox.run","gate_id":"check","gate_isolation_class":"shared_kernel","image_pull_bytes":0,"microvm_seconds":0.000,"run_id":"01a2036c-36a4-7605-9abf-6fe9695f0ec7","sandbox_run_id":"01a2036c-385b-7fdc-92c0-948139b70297","workflow_id":"whole"}');
INSERT INTO "cost" VALUES(5,'01a2036c-387d-7c27-9095-3ac9666f320f','01a2036c-3885-7a3b-ac2d-67ce796b822a','{"backend":"namespace","build_cache_hit":false,"emitted_at":"2026-11-22T13:22:33.745101Z","entry_type":"cost.sandbox.run","gate_id":"agent","gate_isolation_class":"shared_kernel","image_pull_bytes":0,"microvm_seconds":0.000,"run_id":"01a2036c-387d-7c27-9095-3ac9666f320f","sandbox_run_id":"01a2036c-3885-7a3b-ac2d-67ce796b822a","workflow_id":"fails"}');
INSERT INTO "cost" VALUES(6,'01a2036c-387d-7c27-9095-3ac9666f320f','01a2036c-3891-73f2-823d-00b865a958c8','{"backend":"namespace","build_cache_hit":false,"emitted_at":"2026-11-22T13:22:33.753854Z","entry_type":"cost.sandbox.run","gate_id":"check","gate_isolation_class":"shared_kernel","image_pull_bytes":0,"microvm_seconds":0.000,"run_id":"01a2036c-387d-7c27-9095-3ac9666f320f","sandbox_run_id":"01a2036c-3891-73f2-823d-00b865a958c8","workflow_id":"fails"}');
INSERT INTO "cost" VALUES(7,'01a2036c-387d-7c27-9095-3ac9666f320f','01a2036c-389c-7c58-97e9-afec34402165','{"backend":"namespace","build_cache_hit":false,"emitted_at":"2026-11-22T13:22:33.766877Z","entry_type":"cost.sandbox.run","gate_id":"agent","gate_isolation_class":"shared_kernel","image_pull_bytes":0,"microvm_seconds":0.000,"run_id":"01a2036c-387d-7c27-9095-3ac9666f320f","sandbox_run_id":"01a2036c-389c-7c58-97e9-afec34402165","workflow_id":"fails"}');
INSERT INTO "cost" VALUES(8,'01a2036c-387d-7c27-9095-3ac9666f320f','01a2036c-38a6-7d5d-9b0d-e0531f0da24d','{"backend":"namespace","build_cache_hit":false,"emitted_at":"2026-11-22T13:22:33.774238Z","entry_type":"cost.sandbox.run","gate_id":"check","gate_isolation_class":"shared_kernel","image_pull_bytes":0,"microvm_seconds":0.000,"run_id":"01a2036c-387d-7c27-9095-3ac9666f320f","sandbox_run_id":"01a2036c-38a6-7d5d-9b0d-e0531f0da24d","workflow_id":"fails"}');
CREATE TABLE heads (
  run_id TEXT PRIMARY KEY REFERENCES runs (run_id),
  body TEXT NOT NULL,
  public_key TEXT NOT NULL,
  signature TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "heads" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','{"chains":{"":{"head":"443a4ce2e3e40b4863053d89fed6184ed7107c280cf9457e8ce05c635e148270","rows":3},"one":{"head":"7b8cc8851a39829c5c524371419f907f1601368ce16328438015538edce64a08","rows":10}},"run_id":"01a2036c-36a4-7605-9abf-6fe9695f0ec7","signed_at":"2026-11-22T13:22:33.699919Z"}','44e6e9cf9d599706705a1fa15c855be14e80840c3beff192bb333c090bfa53d9','55bc7913e539ef287c618aa6cf9d8bddbb8e63129cbd62414df136af039b2180dca0b297c32f27cabd0baeea41baf9d59fad869fc419850a5431f82427098f0f');
INSERT INTO "heads" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','{"chains":{"":{"head":"7fe3b6ffe614bd17ab0d52809dccbfdefd8b7f5e01e311ed9c3e89b19734c18b","rows":3},"one":{"head":"4894ea3da3ed8b8a4b9f4292725f3dd97b61a226fbef510f8598dee6da3469fe","rows":10}},"run_id":"01a2036c-387d-7c27-9095-3ac9666f320f","signed_at":"2026-11-22T13:22:33.774401Z"}','44e6e9cf9d599706705a1fa15c855be14e80840c3beff192bb333c090bfa53d9','c76ee127d1ac6e5cc7a3035d9861a7d8a849da9d454c853997ccd546d433aa2314aac0d43e80a61f99b53d60c41195f21946929be896a8439357da59bc857c0c');
INSERT INTO "heads" VALUES('01a2036c-38c7-7837-a9bc-6dabf3420713','{"chains":{"":{"head":"150cbfdacb15df99fdcc10039339da7120e328c9d60e7acc7f4be5e95f04c808","rows":1}},"run_id":"01a2036c-38c7-7837-a9bc-6dabf3420713","signed_at":"2026-11-22T13:22:33.799444Z"}','44e6e9cf9d599706705a1fa15c855be14e80840c3beff192bb333c090bfa53d9','93ec9fde66b8f2ee9b85e0569367daf3fa70ce5b9c783660067a13b2810f4dc3df5e55b85bc7a1ae4ef0d783f7a41375ce3023cd3acc70e676ab1eebe37fc102');
CREATE TABLE inventories (
  key TEXT PRIMARY KEY,
  names TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  chain TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  line TEXT NOT NULL,
  PRIMARY KEY (run_id, chain, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','',1,'0903b41da97dbc2f7d672dc149b7a4336545553d3eeeae91c7d2c3aa3ddd204c','{"at":"2026-11-22T13:22:33.252176Z","backend":"namespace","base_commit":"","base_id":"2add2e505dc4918467c310effd3427f714f5931a2ed61da1296c2b1a06c74768","phases":["one"],"plan_content":"9eb49e075fda77a2afbb2772eceb1ec9b4d0baa671f9994dc7c98f233bdf9ec1","plan_hash":"74a9530c6e57e797a5edcc53224354812692487c8a57862725aadaa16d9af17d","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","run_id":"01a2036c-36a4-7605-9abf-6fe9695f0ec7","seq":1,"type":"run_started","workflow_id":"whole","hash":"0903b41da97dbc2f7d672dc149b7a4336545553d3eeeae91c7d2c3aa3ddd204c"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','',2,'70ff8e5b049908f94f0106af0c0cbef832530da0c648b63d2b6bc7a67060a4a9','{"at":"2026-11-22T13:22:33.699919Z","attempts_total":2,"attempts_used":2,"cause":"","head":"7b8cc8851a39829c5c524371419f907f1601368ce16328438015538edce64a08","outcome":"passed","phase_id":"one","prev_hash":"0903b41da97dbc2f7d672dc149b7a4336545553d3eeeae91c7d2c3aa3ddd204c","rows":10,"seq":2,"state":"COMPLETE","type":"phase_sealed","hash":"70ff8e5b049908f94f0106af0c0cbef832530da0c648b63d2b6bc7a67060a4a9"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','',3,'443a4ce2e3e40b4863053d89fed6184ed7107c280cf9457e8ce05c635e148270','{"at":"2026-11-22T13:22:33.699919Z","phases":[{"head":"7b8cc8851a39829c5c524371419f907f1601368ce16328438015538edce64a08","phase_id":"one","rows":10}],"prev_hash":"70ff8e5b049908f94f0106af0c0cbef832530da0c648b63d2b6bc7a67060a4a9","seq":3,"state":"COMPLETE","type":"run_sealed","hash":"443a4ce2e3e40b4863053d89fed6184ed7107c280cf9457e8ce05c635e148270"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',1,'c20be86d90f7d5649aed1ee27b40ab68003a055ab9a7fac87d36b7b9605d52dc','{"at":"2026-11-22T13:22:33.259119Z","attempt_id":"one.1","execution":1,"label":"one.agent.run.attempt1","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","sandbox_run_id":"01a2036c-36ab-758f-b1cb-ffe24779cbdf","sandbox_spec_hash":"f4530942fbdeab74986c7ae6ab0ff25fb2aacc32207183530a3c238d57a12d6e","seq":1,"started_at":"2026-11-22T13:22:33.259119Z","type":"pre_execute","hash":"c20be86d90f7d5649aed1ee27b40ab68003a055ab9a7fac87d36b7b9605d52dc"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',2,'1a429949d04867b28b8ffc9e3f5c66c93e92d5ed7ce750e17c6ce483caa58cde','{"at":"2026-11-22T13:22:33.469519Z","attempt_id":"one.1","duration_ms":204,"exit_code":0,"label":"one.agent.run.attempt1","layer":"860cff054a15c3990a7c08460f089d0b1f4f1271075cd196365f01a09f62ea45","outcome":"exited","prev_hash":"c20be86d90f7d5649aed1ee27b40ab68003a055ab9a7fac87d36b7b9605d52dc","sandbox_run_id":"01a2036c-36ab-758f-b1cb-ffe24779cbdf","seq":2,"type":"executed","hash":"1a429949d04867b28b8ffc9e3f5c66c93e92d5ed7ce750e17c6ce483caa58cde"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',3,'fcb328744823469dd46f99fd89c77537314b342a95fe6e5252e9d7cac0ea46f6','{"at":"2026-11-22T13:22:33.469519Z","attempt_id":"one.1","execution":1,"label":"one.check.unit.attempt1","prev_hash":"1a429949d04867b28b8ffc9e3f5c66c93e92d5ed7ce750e17c6ce483caa58cde","sandbox_run_id":"01a2036c-377d-7238-b538-7a23787ec2ae","sandbox_spec_hash":"11db1077dbb27be98aa91b4d28570ecb7038cfd3c940b1792e9352876fbfda40","seq":3,"started_at":"2026-11-22T13:22:33.469519Z","type":"pre_execute","hash":"fcb328744823469dd46f99fd89c77537314b342a95fe6e5252e9d7cac0ea46f6"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',4,'f23028d195028209f82ca5379b8e9bfa6c84203b56d0602efabfc8f7bf8b4e94','{"at":"2026-11-22T13:22:33.478623Z","attempt_id":"one.1","duration_ms":4,"exit_code":1,"label":"one.check.unit.attempt1","layer":"","outcome":"exited","prev_hash":"fcb328744823469dd46f99fd89c77537314b342a95fe6e5252e9d7cac0ea46f6","sandbox_run_id":"01a2036c-377d-7238-b538-7a23787ec2ae","seq":4,"type":"executed","hash":"f23028d195028209f82ca5379b8e9bfa6c84203b56d0602efabfc8f7bf8b4e94"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',5,'3f8e2b9e162d16f82a4dd862c3d67977668542e140d8ba346d75c592501a7f93','{"at":"2026-11-22T13:22:33.478623Z","attempt_id":"one.1","build":"0.1.0","ended_at":"2026-11-22T13:22:33.478623Z","executor":"first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16295/6716835/0","failing_signals":["check.build"],"model":"small","prev_hash":"f23028d195028209f82ca5379b8e9bfa6c84203b56d0602efabfc8f7bf8b4e94","revision":0,"seq":5,"signals":[{"details":{"exit_code":0,"outcome":"exited"},"gate_id":"agent","kind":"agent","missing":false,"passed":true},{"details":{"exit_code":1,"outcome":"exited","step":"unit"},"gate_id":"check","kind":"build","missing":false,"passed":false}],"started_at":"2026-11-22T13:22:33.257361Z","summary":"FAILED check.build\n  exit_code: 1\n  outcome: exited\n  step: unit\n","type":"attempt","verdict":"failed_retryable","hash":"3f8e2b9e162d16f82a4dd862c3d67977668542e140d8ba346d75c592501a7f93"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',6,'245693961927f544e5d6bea213e260108ae87042d873c218923490afe03915f6','{"at":"2026-11-22T13:22:33.481282Z","attempt_id":"one.2","execution":1,"label":"one.agent.run.attempt2","prev_hash":"3f8e2b9e162d16f82a4dd862c3d67977668542e140d8ba346d75c592501a7f93","sandbox_run_id":"01a2036c-3788-78f0-a9a4-a7b68245e8d5","sandbox_spec_hash":"a3ad5cf3436f69856ae5deba7d04b30a537dfb551ce826a4c637cd77738fed30","seq":6,"started_at":"2026-11-22T13:22:33.481282Z","type":"pre_execute","hash":"245693961927f544e5d6bea213e260108ae87042d873c218923490afe03915f6"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',7,'e4422f84447a9f1f89b6f04cfdb4f03ef5a6161e3e29ba7aa93bdf54720ea65b','{"at":"2026-11-22T13:22:33.691053Z","attempt_id":"one.2","duration_ms":204,"exit_code":0,"label":"one.agent.run.attempt2","layer":"b284f1a644eb64182769e155863741149bfb3164e2371685058f90097cafc08c","outcome":"exited","prev_hash":"245693961927f544e5d6bea213e260108ae87042d873c218923490afe03915f6","sandbox_run_id":"01a2036c-3788-78f0-a9a4-a7b68245e8d5","seq":7,"type":"executed","hash":"e4422f84447a9f1f89b6f04cfdb4f03ef5a6161e3e29ba7aa93bdf54720ea65b"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',8,'986c36ba6bb604c3524b409b25d626839edb1574fd92aece8eaf885db4eae68a','{"at":"2026-11-22T13:22:33.691053Z","attempt_id":"one.2","execution":1,"label":"one.check.unit.attempt2","prev_hash":"e4422f84447a9f1f89b6f04cfdb4f03ef5a6161e3e29ba7aa93bdf54720ea65b","sandbox_run_id":"01a2036c-385b-7fdc-92c0-948139b70297","sandbox_spec_hash":"a68d581f1d1f55b8623dcc587e082f4e18343e18e838eeab5312f197850bcfe9","seq":8,"started_at":"2026-11-22T13:22:33.691053Z","type":"pre_execute","hash":"986c36ba6bb604c3524b409b25d626839edb1574fd92aece8eaf885db4eae68a"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',9,'76df01e979a4a087e8d15df73c2a2576c1b700d67965487b9e02100ee24285c9','{"at":"2026-11-22T13:22:33.699919Z","attempt_id":"one.2","duration_ms":5,"exit_code":0,"label":"one.check.unit.attempt2","layer":"","outcome":"exited","prev_hash":"986c36ba6bb604c3524b409b25d626839edb1574fd92aece8eaf885db4eae68a","sandbox_run_id":"01a2036c-385b-7fdc-92c0-948139b70297","seq":9,"type":"executed","hash":"76df01e979a4a087e8d15df73c2a2576c1b700d67965487b9e02100ee24285c9"}');
INSERT INTO "ledger" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',10,'7b8cc8851a39829c5c524371419f907f1601368ce16328438015538edce64a08','{"at":"2026-11-22T13:22:33.699919Z","attempt_id":"one.2","build":"0.1.0","ended_at":"2026-11-22T13:22:33.699919Z","executor":"first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16295/6716835/0","failing_signals":[],"model":"large","prev_hash":"76df01e979a4a087e8d15df73c2a2576c1b700d67965487b9e02100ee24285c9","revision":0,"seq":10,"signals":[{"details":{"exit_code":0,"outcome":"exited"},"gate_id":"agent","kind":"agent","missing":false,"passed":true},{"details":{"exit_code":0,"outcome":"exited","step":"unit"},"gate_id":"check","kind":"build","missing":false,"passed":true}],"started_at":"2026-11-22T13:22:33.479930Z","summary":"","type":"attempt","verdict":"passed","hash":"7b8cc8851a39829c5c524371419f907f1601368ce16328438015538edce64a08"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','',1,'8c176ecd30338f713c6cc199f2ea5e8eb583155212e52c54c15f6e954a487daa','{"at":"2026-11-22T13:22:33.725147Z","backend":"namespace","base_commit":"","base_id":"2add2e505dc4918467c310effd3427f714f5931a2ed61da1296c2b1a06c74768","phases":["one"],"plan_content":"9eb49e075fda77a2afbb2772eceb1ec9b4d0baa671f9994dc7c98f233bdf9ec1","plan_hash":"ec2ca42f9ac6a8c9bbf9bff8a0b503d188d230e6dba57d5d08a7965d754f222e","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","run_id":"01a2036c-387d-7c27-9095-3ac9666f320f","seq":1,"type":"run_started","workflow_id":"fails","hash":"8c176ecd30338f713c6cc199f2ea5e8eb583155212e52c54c15f6e954a487daa"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','',2,'68e844e3467c42309dd988e6eefe6399af1292de822957eb29a2c7e5dd85f758','{"at":"2026-11-22T13:22:33.774401Z","attempts_total":2,"attempts_used":2,"cause":"check.build: all 2 attempts are used","head":"4894ea3da3ed8b8a4b9f4292725f3dd97b61a226fbef510f8598dee6da3469fe","outcome":"escalate","phase_id":"one","prev_hash":"8c176ecd30338f713c6cc199f2ea5e8eb583155212e52c54c15f6e954a487daa","rows":10,"seq":2,"state":"FAILED","type":"phase_sealed","hash":"68e844e3467c42309dd988e6eefe6399af1292de822957eb29a2c7e5dd85f758"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','',3,'7fe3b6ffe614bd17ab0d52809dccbfdefd8b7f5e01e311ed9c3e89b19734c18b','{"at":"2026-11-22T13:22:33.774401Z","phases":[{"head":"4894ea3da3ed8b8a4b9f4292725f3dd97b61a226fbef510f8598dee6da3469fe","phase_id":"one","rows":10}],"prev_hash":"68e844e3467c42309dd988e6eefe6399af1292de822957eb29a2c7e5dd85f758","seq":3,"state":"FAILED","type":"run_sealed","hash":"7fe3b6ffe614bd17ab0d52809dccbfdefd8b7f5e01e311ed9c3e89b19734c18b"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',1,'f3f1efd6076ee9aa968ca33c5a9ffab3675bf2cdefe4016377a56c5f7a50bcf3','{"at":"2026-11-22T13:22:33.734002Z","attempt_id":"one.1","execution":1,"label":"one.agent.run.attempt1","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","sandbox_run_id":"01a2036c-3885-7a3b-ac2d-67ce796b822a","sandbox_spec_hash":"f149a9edb9eeed05bc06ced1d043182540f3a039b7402a77eed71fa9f3552600","seq":1,"started_at":"2026-11-22T13:22:33.734002Z","type":"pre_execute","hash":"f3f1efd6076ee9aa968ca33c5a9ffab3675bf2cdefe4016377a56c5f7a50bcf3"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',2,'f4c1d05602be90b6257e92755eeb0a29ce417ae0928671cf71829a659fccaa70','{"at":"2026-11-22T13:22:33.745203Z","attempt_id":"one.1","duration_ms":5,"exit_code":0,"label":"one.agent.run.attempt1","layer":"96214d2f464f75f27ae30339825d1687c27863c060b0bb716f2311999ec1113a","outcome":"exited","prev_hash":"f3f1efd6076ee9aa968ca33c5a9ffab3675bf2cdefe4016377a56c5f7a50bcf3","sandbox_run_id":"01a2036c-3885-7a3b-ac2d-67ce796b822a","seq":2,"type":"executed","hash":"f4c1d05602be90b6257e92755eeb0a29ce417ae0928671cf71829a659fccaa70"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',3,'372a9dc88958f4ec30db6091d7b4285ab5643110d6e3fa49c5236f07b058d497','{"at":"2026-11-22T13:22:33.745203Z","attempt_id":"one.1","execution":1,"label":"one.check.unit.attempt1","prev_hash":"f4c1d05602be90b6257e92755eeb0a29ce417ae0928671cf71829a659fccaa70","sandbox_run_id":"01a2036c-3891-73f2-823d-00b865a958c8","sandbox_spec_hash":"bc50bde7929ba4a52581e54232115d5cfd1d07607390ca5ca82eb2b755be4d2b","seq":3,"started_at":"2026-11-22T13:22:33.745203Z","type":"pre_execute","hash":"372a9dc88958f4ec30db6091d7b4285ab5643110d6e3fa49c5236f07b058d497"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',4,'a2e9a8f2844521535de310f669f4ab0083e05413d94985a7e92690889c9e1246','{"at":"2026-11-22T13:22:33.754134Z","attempt_id":"one.1","duration_ms":4,"exit_code":1,"label":"one.check.unit.attempt1","layer":"","outcome":"exited","prev_hash":"372a9dc88958f4ec30db6091d7b4285ab5643110d6e3fa49c5236f07b058d497","sandbox_run_id":"01a2036c-3891-73f2-823d-00b865a958c8","seq":4,"type":"executed","hash":"a2e9a8f2844521535de310f669f4ab0083e05413d94985a7e92690889c9e1246"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',5,'26014486fc322688ca8c4dcacc2e9c32b7b6ddc657f6840aafa0bd1576c32fd8','{"at":"2026-11-22T13:22:33.754134Z","attempt_id":"one.1","build":"0.1.0","ended_at":"2026-11-22T13:22:33.754134Z","executor":"first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16318/6716882/0","failing_signals":["check.build"],"model":"small","prev_hash":"a2e9a8f2844521535de310f669f4ab0083e05413d94985a7e92690889c9e1246","revision":0,"seq":5,"signals":[{"details":{"exit_code":0,"outcome":"exited"},"gate_id":"agent","kind":"agent","missing":false,"passed":true},{"details":{"exit_code":1,"outcome":"exited","step":"unit"},"gate_id":"check","kind":"build","missing":false,"passed":false}],"started_at":"2026-11-22T13:22:33.731839Z","summary":"FAILED check.build\n  exit_code: 1\n  outcome: exited\n  step: unit\n","type":"attempt","verdict":"failed_retryable","hash":"26014486fc322688ca8c4dcacc2e9c32b7b6ddc657f6840aafa0bd1576c32fd8"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',6,'1d1884eef6e977060da291863eeaa1217efe4944ee1164ba4f22878606b04a08','{"at":"2026-11-22T13:22:33.757435Z","attempt_id":"one.2","execution":1,"label":"one.agent.run.attempt2","prev_hash":"26014486fc322688ca8c4dcacc2e9c32b7b6ddc657f6840aafa0bd1576c32fd8","sandbox_run_id":"01a2036c-389c-7c58-97e9-afec34402165","sandbox_spec_hash":"49609b00c47fdcaef8dd0d09dcbd6d6c3073a6ed3610facb3de0b0887d17b18c","seq":6,"started_at":"2026-11-22T13:22:33.757435Z","type":"pre_execute","hash":"1d1884eef6e977060da291863eeaa1217efe4944ee1164ba4f22878606b04a08"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',7,'288644343df1e9825301455ce97b9aca97d9965fde92276d85ccf190c9a4ac57','{"at":"2026-11-22T13:22:33.766996Z","attempt_id":"one.2","duration_ms":4,"exit_code":0,"label":"one.agent.run.attempt2","layer":"96214d2f464f75f27ae30339825d1687c27863c060b0bb716f2311999ec1113a","outcome":"exited","prev_hash":"1d1884eef6e977060da291863eeaa1217efe4944ee1164ba4f22878606b04a08","sandbox_run_id":"01a2036c-389c-7c58-97e9-afec34402165","seq":7,"type":"executed","hash":"288644343df1e9825301455ce97b9aca97d9965fde92276d85ccf190c9a4ac57"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',8,'31077854cdf45acfa79ccaf1691baf4a6535e97b84f2ce20045e0007e63d6237','{"at":"2026-11-22T13:22:33.766996Z","attempt_id":"one.2","execution":1,"label":"one.check.unit.attempt2","prev_hash":"288644343df1e9825301455ce97b9aca97d9965fde92276d85ccf190c9a4ac57","sandbox_run_id":"01a2036c-38a6-7d5d-9b0d-e0531f0da24d","sandbox_spec_hash":"bc50bde7929ba4a52581e54232115d5cfd1d07607390ca5ca82eb2b755be4d2b","seq":8,"started_at":"2026-11-22T13:22:33.766996Z","type":"pre_execute","hash":"31077854cdf45acfa79ccaf1691baf4a6535e97b84f2ce20045e0007e63d6237"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',9,'83ab0b74adc3a9e2e1548562feeac92676585fe3699608a22fbb9e3238e8d76c','{"at":"2026-11-22T13:22:33.774401Z","attempt_id":"one.2","duration_ms":3,"exit_code":1,"label":"one.check.unit.attempt2","layer":"","outcome":"exited","prev_hash":"31077854cdf45acfa79ccaf1691baf4a6535e97b84f2ce20045e0007e63d6237","sandbox_run_id":"01a2036c-38a6-7d5d-9b0d-e0531f0da24d","seq":9,"type":"executed","hash":"83ab0b74adc3a9e2e1548562feeac92676585fe3699608a22fbb9e3238e8d76c"}');
INSERT INTO "ledger" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',10,'4894ea3da3ed8b8a4b9f4292725f3dd97b61a226fbef510f8598dee6da3469fe','{"at":"2026-11-22T13:22:33.774401Z","attempt_id":"one.2","build":"0.1.0","ended_at":"2026-11-22T13:22:33.774401Z","executor":"first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16318/6716882/0","failing_signals":["check.build"],"model":"large","prev_hash":"83ab0b74adc3a9e2e1548562feeac92676585fe3699608a22fbb9e3238e8d76c","revision":0,"seq":10,"signals":[{"details":{"exit_code":0,"outcome":"exited"},"gate_id":"agent","kind":"agent","missing":false,"passed":true},{"details":{"exit_code":1,"outcome":"exited","step":"unit"},"gate_id":"check","kind":"build","missing":false,"passed":false}],"started_at":"2026-11-22T13:22:33.755706Z","summary":"FAILED check.build\n  exit_code: 1\n  outcome: exited\n  step: unit\n","type":"attempt","verdict":"escalate","hash":"4894ea3da3ed8b8a4b9f4292725f3dd97b61a226fbef510f8598dee6da3469fe"}');
INSERT INTO "ledger" VALUES('01a2036c-38c7-7837-a9bc-6dabf3420713','',1,'150cbfdacb15df99fdcc10039339da7120e328c9d60e7acc7f4be5e95f04c808','{"at":"2026-11-22T13:22:33.799444Z","backend":"namespace","base_commit":"","base_id":"2add2e505dc4918467c310effd3427f714f5931a2ed61da1296c2b1a06c74768","phases":["one"],"plan_content":"9eb49e075fda77a2afbb2772eceb1ec9b4d0baa671f9994dc7c98f233bdf9ec1","plan_hash":"7f59042a81b5bcad7af67b2c837ad6d3a659e58902febf9ea11427737618717a","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","run_id":"01a2036c-38c7-7837-a9bc-6dabf3420713","seq":1,"type":"run_started","workflow_id":"killed","hash":"150cbfdacb15df99fdcc10039339da7120e328c9d60e7acc7f4be5e95f04c808"}');
INSERT INTO "ledger" VALUES('01a2036c-38c7-7837-a9bc-6dabf3420713','one',1,'ba17c88b5a30eabbdb8240e38b6f4cb242263a5f569c58b533d108a251970c96','{"at":"2026-11-22T13:22:33.807697Z","attempt_id":"one.1","execution":1,"label":"one.agent.run.attempt1","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","sandbox_run_id":"01a2036c-38cf-7929-b530-4260245d0d62","sandbox_spec_hash":"c647f3d4ede3b864bbe244a75c781601ce2e07feda3a4c4af15691730b3f981c","seq":1,"started_at":"2026-11-22T13:22:33.807697Z","type":"pre_execute","hash":"ba17c88b5a30eabbdb8240e38b6f4cb242263a5f569c58b533d108a251970c96"}');
CREATE TABLE phases (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  phase_id TEXT NOT NULL,
  tier_index INTEGER NOT NULL,
  phase_index INTEGER NOT NULL CHECK (phase_index >= 0),
  state TEXT NOT NULL DEFAULT 'QUEUED'
    CHECK (state = 'QUEUED' OR state = 'EXECUTING' OR state = 'COMPLETE' OR state = 'FAILED' OR state = 'SKIPPED'
      OR state = 'CANCELLED'),
  outcome TEXT NOT NULL DEFAULT ''
    CHECK (outcome = '' OR outcome = 'passed' OR outcome = 'escalate' OR outcome = 'failed_unrecoverable'
      OR outcome = 'skipped' OR outcome = 'cancelled'),
  attempts_used INTEGER NOT NULL DEFAULT 0 CHECK (attempts_used BETWEEN 0 AND max_attempts),
  max_attempts INTEGER NOT NULL DEFAULT 5 CHECK (max_attempts BETWEEN 1 AND 100),
  last_attempt_timestamp TEXT NOT NULL DEFAULT '',
  last_failure_reason TEXT NOT NULL DEFAULT '',
  not_before TEXT NOT NULL DEFAULT '',
  lease_owner TEXT NOT NULL DEFAULT '',
  lease_expires_at TEXT NOT NULL DEFAULT '',
  fence INTEGER NOT NULL DEFAULT 0 CHECK (fence >= 0),
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 1000),
  attempts_total INTEGER NOT NULL DEFAULT 0 CHECK (attempts_total BETWEEN attempts_used AND 100000),
  escalation_level INTEGER NOT NULL DEFAULT 0 CHECK (escalation_level BETWEEN 0 AND 100),
  doctor_calls INTEGER NOT NULL DEFAULT 0 CHECK (doctor_calls BETWEEN 0 AND 2),
  replans INTEGER NOT NULL DEFAULT 0 CHECK (replans BETWEEN 0 AND 100),
  PRIMARY KEY (run_id, phase_id),
  UNIQUE (run_id, tier_index, phase_index),
  FOREIGN KEY (run_id, tier_index) REFERENCES tiers (run_id, tier_index),
  CHECK ((state IN ('QUEUED', 'EXECUTING')) = (outcome = '')),
  CHECK ((lease_owner = '') = (lease_expires_at = '')),
  CHECK (state = 'EXECUTING' OR lease_owner = '')
) STRICT, WITHOUT ROWID;
INSERT INTO "phases" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','one',0,0,'COMPLETE','passed',2,2,'2026-11-22T13:22:33.479930Z','','','','',2,0,2,1,0,0);
INSERT INTO "phases" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','one',0,0,'FAILED','escalate',2,2,'2026-11-22T13:22:33.755706Z','check.build: all 2 attempts are used','','','',2,0,2,1,0,0);
INSERT INTO "phases" VALUES('01a2036c-38c7-7837-a9bc-6dabf3420713','one',0,0,'EXECUTING','',1,2,'2026-11-22T13:22:33.806176Z','','','first/f0c57bf4-4029-4f7e-937c-d248abb5772d/16337/6716890/0','2026-11-22T13:23:04.009006Z',1,0,1,0,0,0);
CREATE TABLE runs (
  run_id TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'EXECUTING' CHECK (state = 'EXECUTING' OR state = 'COMPLETE' OR state = 'FAILED'
      OR state = 'CANCELLED'),
  plan_text TEXT NOT NULL,
  plan_file TEXT NOT NULL,
  plan_content TEXT NOT NULL,
  source_path TEXT NOT NULL,
  base_id TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  backend TEXT NOT NULL,
  created_at TEXT NOT NULL,
  ended_at TEXT NOT NULL DEFAULT '',
  CHECK ((state = 'EXECUTING') = (ended_at = ''))
) STRICT, WITHOUT ROWID;
INSERT INTO "runs" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7','whole','COMPLETE','version: 1
workflow: whole
source: {path: source}
models: [small, large]
max_attempts: 2
gates:
  check: {steps: [{name: unit, run: "grep -q 2 n"}], signals: [build]}
tiers:
  - phases:
      - {id: one, goal: g, agent: {run: "echo $PAWL_ATTEMPT >n; sleep 0.2"}, gates: [check]}
','/tmp/first-release/whole.yaml','9eb49e075fda77a2afbb2772eceb1ec9b4d0baa671f9994dc7c98f233bdf9ec1','/tmp/first-release/source','2add2e505dc4918467c310effd3427f714f5931a2ed61da1296c2b1a06c74768','','namespace','2026-11-22T13:22:33.252176Z','2026-11-22T13:22:33.699919Z');
INSERT INTO "runs" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f','fails','FAILED','version: 1
workflow: fails
source: {path: source}
models: [small, large]
max_attempts: 2
gates:
  check: {steps: [{name: unit, run: "false"}], signals: [build]}
tiers:
  - phases:
      - {id: one, goal: g, agent: {run: "echo y >file"}, gates: [check]}
','/tmp/first-release/fails.yaml','9eb49e075fda77a2afbb2772eceb1ec9b4d0baa671f9994dc7c98f233bdf9ec1','/tmp/first-release/source','2add2e505dc4918467c310effd3427f714f5931a2ed61da1296c2b1a06c74768','','namespace','2026-11-22T13:22:33.725147Z','2026-11-22T13:22:33.774401Z');
INSERT INTO "runs" VALUES('01a2036c-38c7-7837-a9bc-6dabf3420713','killed','EXECUTING','version: 1
workflow: killed
source: {path: source}
models: [small, large]
max_attempts: 2
gates:
  check: {steps: [{name: unit, run: "true"}], signals: [build]}
tiers:
  - phases:
      - {id: one, goal: g, agent: {run: "sleep 1000"}, gates: [check]}
','/tmp/first-release/killed.yaml','9eb49e075fda77a2afbb2772eceb1ec9b4d0baa671f9994dc7c98f233bdf9ec1','/tmp/first-release/source','2add2e505dc4918467c310effd3427f714f5931a2ed61da1296c2b1a06c74768','','namespace','2026-11-22T13:22:33.799444Z','');
CREATE TABLE schema_migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at TEXT NOT NULL
) STRICT;
INSERT INTO "schema_migrations" VALUES(1,'first','2026-11-22T13:22:33.242942Z');
CREATE TABLE steps (
  sandbox_run_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  attempt INTEGER NOT NULL AS (CAST(substr(attempt_id, length(phase_id) + 2) AS INTEGER)) VIRTUAL,
  step_index INTEGER NOT NULL CHECK (step_index >= 0),
  gate_id TEXT NOT NULL,
  step_name TEXT NOT NULL,
  label TEXT NOT NULL,
  execution INTEGER NOT NULL CHECK (execution BETWEEN 1 AND 3),
  sandbox_spec_hash TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state = 'open' OR state = 'done' OR state = 'lost'),
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL DEFAULT '',
  run TEXT NOT NULL DEFAULT '',
  UNIQUE (run_id, attempt_id, step_index, execution),
  FOREIGN KEY (run_id, phase_id, attempt) REFERENCES attempts (run_id, phase_id, number),
  CHECK ((state = 'done') = (run <> ''))
) STRICT, WITHOUT ROWID;
INSERT INTO "steps" VALUES('01a2036c-36ab-758f-b1cb-ffe24779cbdf','01a2036c-36a4-7605-9abf-6fe9695f0ec7','one','one.1',0,'agent','run','one.agent.run.attempt1',1,'f4530942fbdeab74986c7ae6ab0ff25fb2aacc32207183530a3c238d57a12d6e','done','2026-11-22T13:22:33.259119Z','2026-11-22T13:22:33.469519Z','{"backend":"namespace","build_cache_hit":false,"copy_out":"","cpu_ms":3,"duration_ms":204,"egress_allowlist":[],"egress_refused":0,"ended_at":"2026-11-22T13:22:33.465578Z","exit_code":0,"gate_isolation_class":"shared_kernel","image_pull_bytes":0,"layer":"860cff054a15c3990a7c08460f089d0b1f4f1271075cd196365f01a09f62ea45","logs":"","logs_bytes":0,"max_rss_kib":1016,"microvm_milliseconds":0,"network_log":"","outcome":"exited","reason":"","refused":[],"run_id":"01a2036c-36ab-758f-b1cb-ffe24779cbdf","signal":0,"started_at":"2026-11-22T13:22:33.260725Z","trace":""}');
INSERT INTO "steps" VALUES('01a2036c-377d-7238-b538-7a23787ec2ae','01a2036c-36a4-7605-9abf-6fe9695f0ec7','one','one.1',1,'check','unit','one.check.unit.attempt1',1,'11db1077dbb27be98aa91b4d28570ecb7038cfd3c940b1792e9352876fbfda40','done','2026-11-22T13:22:33.469519Z','2026-11-22T13:22:33.478623Z','{"backend":"namespace","build_cache_hit":false,"copy_out":"","cpu_ms":4,"duration_ms":4,"egress_allowlist":[],"egress_refused":0,"ended_at":"2026-11-22T13:22:33.476797Z","exit_code":1,"gate_isolation_class":"shared_kernel","image_pull_bytes":0,"layer":"","logs":"","logs_bytes":0,"max_rss_kib":1020,"microvm_milliseconds":0,"network_log":"","outcome":"exited","reason":"","refused":[],"run_id":"01a2036c-377d-7238-b538-7a23787ec2ae","signal":0,"started_at":"2026-11-22T13:22:33.472244Z","trace":""}');
INSERT INTO "steps" VALUES('01a2036c-3788-78f0-a9a4-a7b68245e8d5','01a2036c-36a4-7605-9abf-6fe9695f0ec7','one','one.2',0,'agent','run','one.agent.run.attempt2',1,'a3ad5cf3436f69856ae5deba7d04b30a537dfb551ce826a4c637cd77738fed30','done','2026-11-22T13:22:33.481282Z','2026-11-22T13:22:33.691053Z','{"backend":"namespace","build_cache_hit":false,"copy_out":"","cpu_ms":4,"duration_ms":204,"egress_allowlist":[],"egress_refused":0,"ended_at":"2026-11-22T13:22:33.687491Z","exit_code":0,"gate_isolation_class":"shared_kernel","image_pull_bytes":0,"layer":"b284f1a644eb64182769e155863741149bfb3164e2371685058f90097cafc08c","logs":"","logs_bytes":0,"max_rss_kib":1024,"microvm_milliseconds":0,"network_log":"","outcome":"exited","reason":"","refused":[],"run_id":"01a2036c-3788-78f0-a9a4-a7b68245e8d5","signal":0,"started_at":"2026-11-22T13:22:33.482793Z","trace":""}');
INSERT INTO "steps" VALUES('01a2036c-385b-7fdc-92c0-948139b70297','01a2036c-36a4-7605-9abf-6fe9695f0ec7','one','one.2',1,'check','unit','one.check.unit.attempt2',1,'a68d581f1d1f55b8623dcc587e082f4e18343e18e838eeab5312f197850bcfe9','done','2026-11-22T13:22:33.691053Z','2026-11-22T13:22:33.699919Z','{"backend":"namespace","build_cache_hit":false,"copy_out":"","cpu_ms":4,"duration_ms":5,"egress_allowlist":[],"egress_refused":0,"ended_at":"2026-11-22T13:22:33.698607Z","exit_code":0,"gate_isolation_class":"shared_kernel","image_pull_bytes":0,"layer":"","logs":"","logs_bytes":0,"max_rss_kib":1020,"microvm_milliseconds":0,"network_log":"","outcome":"exited","reason":"","refused":[],"run_id":"01a2036c-385b-7fdc-92c0-948139b70297","signal":0,"started_at":"2026-11-22T13:22:33.693281Z","trace":""}');
INSERT INTO "steps" VALUES('01a2036c-3885-7a3b-ac2d-67ce796b822a','01a2036c-387d-7c27-9095-3ac9666f320f','one','one.1',0,'agent','run','one.agent.run.attempt1',1,'f149a9edb9eeed05bc06ced1d043182540f3a039b7402a77eed71fa9f3552600','done','2026-11-22T13:22:33.734002Z','2026-11-22T13:22:33.745203Z','{"backend":"namespace","build_cache_hit":false,"copy_out":"","cpu_ms":3,"duration_ms":5,"egress_allowlist":[],"egress_refused":0,"ended_at":"2026-11-22T13:22:33.741417Z","exit_code":0,"gate_isolation_class":"shared_kernel","image_pull_bytes":0,"layer":"96214d2f464f75f27ae30339825d1687c27863c060b0bb716f2311999ec1113a","logs":"","logs_bytes":0,"max_rss_kib":1024,"microvm_milliseconds":0,"network_log":"","outcome":"exited","reason":"","refused":[],"run_id":"01a2036c-3885-7a3b-ac2d-67ce796b822a","signal":0,"started_at":"2026-11-22T13:22:33.736110Z","trace":""}');
INSERT INTO "steps" VALUES('01a2036c-3891-73f2-823d-00b865a958c8','01a2036c-387d-7c27-9095-3ac9666f320f','one','one.1',1,'check','unit','one.check.unit.attempt1',1,'bc50bde7929ba4a52581e54232115d5cfd1d07607390ca5ca82eb2b755be4d2b','done','2026-11-22T13:22:33.745203Z','2026-11-22T13:22:33.754134Z','{"backend":"namespace","build_cache_hit":false,"copy_out":"","cpu_ms":2,"duration_ms":4,"egress_allowlist":[],"egress_refused":0,"ended_at":"2026-11-22T13:22:33.752100Z","exit_code":1,"gate_isolation_class":"shared_kernel","image_pull_bytes":0,"layer":"","logs":"","logs_bytes":0,"max_rss_kib":768,"microvm_milliseconds":0,"network_log":"","outcome":"exited","reason":"","refused":[],"run_id":"01a2036c-3891-73f2-823d-00b865a958c8","signal":0,"started_at":"2026-11-22T13:22:33.747601Z","trace":""}');
INSERT INTO "steps" VALUES('01a2036c-389c-7c58-97e9-afec34402165','01a2036c-387d-7c27-9095-3ac9666f320f','one','one.2',0,'agent','run','one.agent.run.attempt2',1,'49609b00c47fdcaef8dd0d09dcbd6d6c3073a6ed3610facb3de0b0887d17b18c','done','2026-11-22T13:22:33.757435Z','2026-11-22T13:22:33.766996Z','{"backend":"namespace","build_cache_hit":false,"copy_out":"","cpu_ms":2,"duration_ms":4,"egress_allowlist":[],"egress_refused":0,"ended_at":"2026-11-22T13:22:33.763445Z","exit_code":0,"gate_isolation_class":"shared_kernel","image_pull_bytes":0,"layer":"96214d2f464f75f27ae30339825d1687c27863c060b0bb716f2311999ec1113a","logs":"","logs_bytes":0,"max_rss_kib":620,"microvm_milliseconds":0,"network_log":"","outcome":"exited","reason":"","refused":[],"run_id":"01a2036c-389c-7c58-97e9-afec34402165","signal":0,"started_at":"2026-11-22T13:22:33.759443Z","trace":""}');
INSERT INTO "steps" VALUES('01a2036c-38a6-7d5d-9b0d-e0531f0da24d','01a2036c-387d-7c27-9095-3ac9666f320f','one','one.2',1,'check','unit','one.check.unit.attempt2',1,'bc50bde7929ba4a52581e54232115d5cfd1d07607390ca5ca82eb2b755be4d2b','done','2026-11-22T13:22:33.766996Z','2026-11-22T13:22:33.774401Z','{"backend":"namespace","build_cache_hit":false,"copy_out":"","cpu_ms":3,"duration_ms":3,"egress_allowlist":[],"egress_refused":0,"ended_at":"2026-11-22T13:22:33.772690Z","exit_code":1,"gate_isolation_class":"shared_kernel","image_pull_bytes":0,"layer":"","logs":"","logs_bytes":0,"max_rss_kib":1016,"microvm_milliseconds":0,"network_log":"","outcome":"exited","reason":"","refused":[],"run_id":"01a2036c-38a6-7d5d-9b0d-e0531f0da24d","signal":0,"started_at":"2026-11-22T13:22:33.769237Z","trace":""}');
INSERT INTO "steps" VALUES('01a2036c-38cf-7929-b530-4260245d0d62','01a2036c-38c7-7837-a9bc-6dabf3420713','one','one.1',0,'agent','run','one.agent.run.attempt1',1,'c647f3d4ede3b864bbe244a75c781601ce2e07feda3a4c4af15691730b3f981c','open','2026-11-22T13:22:33.807697Z','','');
CREATE TABLE tiers (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  tier_index INTEGER NOT NULL CHECK (tier_index >= 0),
  name TEXT NOT NULL,
  stop_on_failure INTEGER NOT NULL CHECK (stop_on_failure IN (0, 1)),
  parallel INTEGER NOT NULL CHECK (parallel IN (0, 1)),
  PRIMARY KEY (run_id, tier_index)
) STRICT, WITHOUT ROWID;
INSERT INTO "tiers" VALUES('01a2036c-36a4-7605-9abf-6fe9695f0ec7',0,'tier1',1,0);
INSERT INTO "tiers" VALUES('01a2036c-387d-7c27-9095-3ac9666f320f',0,'tier1',1,0);
INSERT INTO "tiers" VALUES('01a2036c-38c7-7837-a9bc-6dabf3420713',0,'tier1',1,0);
CREATE INDEX idx_run_open ON runs (run_id) WHERE state = 'EXECUTING';
CREATE INDEX idx_phase_executable ON phases (run_id, state, attempts_used);
CREATE INDEX idx_phase_open ON phases (run_id, tier_index, phase_index) WHERE outcome = '';
CREATE UNIQUE INDEX idx_attempt_unfinished ON attempts (run_id, phase_id) WHERE finished = 0;
CREATE INDEX idx_step_of_phase ON steps (run_id, phase_id);
CREATE UNIQUE INDEX idx_step_open ON steps (run_id, phase_id) WHERE state = 'open';
CREATE INDEX idx_cost_run ON cost (run_id, cost_seq);
COMMIT;
