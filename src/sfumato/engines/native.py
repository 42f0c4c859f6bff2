from sfumato.engines.reference import ReferenceEngine as NativeEngine
